const FILE_TOOLS = new Set(["write", "edit", "patch", "apply_patch", "multiedit"]);

// Nothing happens here at start: a plugin that fails while it is loaded leaves every tool unguarded, without a word.
export const Blastradius = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const args = output?.args ?? {};
    if (input.tool !== "bash" && !FILE_TOOLS.has(input.tool) && !namesACommand(args)) return;
    const answer = await ask({
      agent: "opencode",
      event: "tool.execute.before",
      cwd: directory ?? process.cwd(),
      tool_name: input.tool,
      tool_input: args,
    });
    if (answer.verdict !== "allow") throw new Error(answer.reason);
  },
  // In a guarded session: what the guard refused while the command ran, for the model to read.
  "tool.execute.after": async (input, output) => {
    if (!process.env.BLASTRADIUS_SESSION || input.tool !== "bash") return;
    const answer = await ask({ agent: "opencode", event: "tool.execute.after", cwd: directory ?? process.cwd() });
    if (answer.context) output.output = `${output.output ?? ""}\n${answer.context}`;
  },
});
