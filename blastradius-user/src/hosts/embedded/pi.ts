import { appendFileSync } from "node:fs";
import { homedir, platform } from "node:os";
import { join } from "node:path";

// Tools besides `bash` that hand one of their own fields to a shell: every string in their arguments is judged.
// A tool with a field named `command`, `cmd` or `shell_command` is found without being listed. Names in the variable
// EXPLICIT_SHELL_TOOLS, separated by commas, are added.
const EXPLICIT_SHELL_TOOLS = new Set<string>(
  (process.env.EXPLICIT_SHELL_TOOLS ?? "").split(",").map((name) => name.trim()).filter(Boolean),
);
// pi's own tools that change files.
const FILE_TOOLS = new Set<string>(["write", "edit"]);

const LOG = join(process.env.PI_CODING_AGENT_DIR || join(homedir(), ".pi", "agent"), "command-blocklist.log");

// Append-only, one JSON object a line. Mode 0600: commands carry secrets as arguments.
function audit(verdict: string, tool: string, rule: string | undefined, command: string, more: object = {}) {
  const record = { at: new Date().toISOString(), verdict, tool, rule, command, ...more };
  try {
    appendFileSync(LOG, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  } catch {
    // A full disk must not decide what runs.
  }
}

function texts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(texts);
  if (value && typeof value === "object") return Object.values(value).flatMap(texts);
  return [];
}

// The calls that the guard is asked about for one tool call: (tool, arguments), none for tools that run nothing.
function questions(toolName: string, input: any): [string, any][] {
  if (EXPLICIT_SHELL_TOOLS.has(toolName)) return texts(input).map((command) => ["bash", { command }]);
  if (toolName === "bash" || FILE_TOOLS.has(toolName) || namesACommand(input)) return [[toolName, input]];
  return [];
}

function shown(input: any): string {
  const field = COMMAND_FIELDS.find((field) => typeof input?.[field] === "string");
  return field ? input[field] : String(input?.path ?? input?.file_path ?? "");
}

// A dialog that was aborted, that failed, or that nobody is there to see is no consent.
async function consents(ctx: any, reason: string): Promise<boolean> {
  if (!ctx.hasUI) return false;
  try {
    return (await ctx.ui.confirm("blastradius", reason)) === true;
  } catch {
    return false;
  }
}

export default function (pi: any) {
  pi.on("session_start", async (_event: any, ctx: any) => {
    if (platform() === "win32") {
      ctx.ui?.notify?.(
        "blastradius reads POSIX shells only: commands for cmd and PowerShell are not understood here.",
        "warning",
      );
    }
  });

  pi.on("tool_call", async (event: any, ctx: any) => {
    for (const [tool, input] of questions(event.toolName, event.input)) {
      const answer: any = await ask({
        agent: "pi",
        event: "tool_call",
        ask: ctx.hasUI === true,
        cwd: ctx.cwd ?? process.cwd(),
        tool_name: tool,
        tool_input: input,
      });
      if (answer.verdict === "confirm") {
        const consent = await consents(ctx, answer.reason);
        audit("confirm", event.toolName, answer.rule, shown(input), { consent });
        if (!consent) {
          const why = "Confirmation was needed, and the user did not give it.";
          return { block: true, reason: `${answer.reason}\n${why}` };
        }
        continue;
      }
      audit(answer.verdict, event.toolName, answer.rule, shown(input));
      if (answer.verdict !== "allow") return { block: true, reason: answer.reason };
    }
  });

  // What the human types is theirs to decide, except for what nobody may do.
  pi.on("user_bash", async (event: any, ctx: any) => {
    const answer: any = await ask({
      agent: "pi",
      event: "user_bash",
      human: true,
      cwd: event.cwd ?? ctx.cwd ?? process.cwd(),
      tool_name: "bash",
      tool_input: { command: event.command },
    });
    audit(answer.verdict, "user_bash", answer.rule, event.command);
    if (answer.verdict === "allow") return;
    ctx.ui?.notify?.(answer.reason, "error");
    return { result: { output: answer.reason, exitCode: 126, cancelled: false, truncated: false } };
  });

  // In a guarded session: what the guard refused while the command ran, for the model to read.
  if (process.env.BLASTRADIUS_SESSION) {
    pi.on("tool_result", async (event: any, ctx: any) => {
      if (event.toolName !== "bash") return;
      const answer: any = await ask({ agent: "pi", event: "tool_result", cwd: ctx.cwd ?? process.cwd() });
      if (!answer.context) return;
      return { content: [...(event.content ?? []), { type: "text", text: answer.context }] };
    });
  }

  pi.registerCommand("blocklist-check", {
    description: "Judge a command with blastradius, without running it",
    handler: async (args: string, ctx: any) => {
      const command = (args ?? "").trim();
      if (!command) {
        ctx.ui.notify("usage: /blocklist-check COMMAND", "info");
        return;
      }
      const answer: any = await ask({
        agent: "pi",
        event: "tool_call",
        ask: true,
        cwd: ctx.cwd ?? process.cwd(),
        tool_name: "bash",
        tool_input: { command },
      });
      const rule = answer.rule ? ` (${answer.rule})` : "";
      const text = `${answer.verdict}${rule}: ${command}${answer.reason ? `\n${answer.reason}` : ""}`;
      ctx.ui.notify(text, answer.verdict === "allow" ? "info" : "warning");
    },
  });
}
