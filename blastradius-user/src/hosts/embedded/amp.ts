// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now
const FILE_TOOLS = new Set<string>(["create_file", "edit_file", "delete_file", "apply_patch"]);

export default function (amp: any) {
  amp.on("tool.call", async (event: any) => {
    const shell = amp.helpers?.shellCommandFromToolCall?.(event);
    const input = event.input ?? {};
    if (!shell && !FILE_TOOLS.has(event.tool) && !namesACommand(input)) return { action: "allow" };
    const root = amp.system?.workspaceRoot;
    const answer: any = await ask({
      agent: "amp",
      event: "tool.call",
      cwd: typeof root === "string" ? root : process.cwd(),
      tool_name: shell ? "Bash" : event.tool,
      tool_input: shell ? { ...input, command: shell.command, cwd: shell.dir ?? undefined } : input,
    });
    if (answer.verdict === "allow") return { action: "allow" };
    return { action: "reject-and-continue", message: answer.reason };
  });
}
