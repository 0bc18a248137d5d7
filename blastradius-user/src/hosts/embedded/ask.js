// Written by `blastradius install`; `blastradius uninstall` takes it away, and installing again writes it anew.
import { spawn } from "node:child_process";

const PROGRAM = %PROGRAM;
// Above the program's own deadline, at which it refuses by itself.
const PATIENCE_MS = 10_000;

// Asks the guard about one call. Whatever is no explicit verdict is a refusal: silence means that it died.
function ask(payload) {
  return new Promise((resolve) => {
    const unjudged = (what) =>
      resolve({
        verdict: "deny",
        rule: "unjudged",
        reason: `blastradius refused this: it was not run, because the guard gave no verdict (${what}). Tell the user.`,
      });
    let child;
    try {
      child = spawn(PROGRAM, ["hook", "--agent", payload.agent], { stdio: ["pipe", "pipe", "ignore"] });
    } catch (error) {
      unjudged(String(error));
      return;
    }
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      unjudged("it did not answer in time");
    }, PATIENCE_MS);
    let text = "";
    child.on("error", (error) => {
      clearTimeout(timer);
      unjudged(error.message);
    });
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (chunk) => {
      text += chunk;
    });
    child.on("close", () => {
      clearTimeout(timer);
      let answer;
      try {
        answer = JSON.parse(text);
      } catch {
        answer = undefined;
      }
      if (["allow", "confirm", "deny"].includes(answer?.verdict)) resolve(answer);
      else unjudged("it ended without one");
    });
    // It may be gone before it has read everything; then there is no verdict, which is seen above.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify({ explicit: true, ...payload }));
  });
}

const COMMAND_FIELDS = ["command", "cmd", "shell_command"];

function namesACommand(input) {
  return COMMAND_FIELDS.some((field) => typeof input?.[field] === "string");
}
