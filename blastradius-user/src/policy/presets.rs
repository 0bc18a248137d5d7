//! Zone *state*: what a tool owns and rebuilds. A table, and the question whether the tool is there.

use std::path::{Path, PathBuf};

use crate::shell::world::{Look, Platform, World};

use super::paths::{depth, one_name};
use super::pattern::Pattern;

/// What one tool owns.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The tool, for people.
    pub tool: &'static str,
    /// It is present if one of these is found on PATH …
    pub programs: &'static [&'static str],
    /// … or one of these variables is set …
    pub variables: &'static [&'static str],
    /// … or one of these is there: tools that each project brings along leave them, and no program on PATH.
    pub traces: &'static [&'static str],
    /// What it owns: `~/` is the home, `$NAME` a variable (a line with an unset one is void), `*` a wildcard.
    pub paths: &'static [&'static str],
}

const fn by_program(
    tool: &'static str,
    programs: &'static [&'static str],
    paths: &'static [&'static str],
) -> Preset {
    Preset { tool, programs, variables: &[], traces: &[], paths }
}

const fn by_variable(
    tool: &'static str,
    variables: &'static [&'static str],
    paths: &'static [&'static str],
) -> Preset {
    Preset { tool, programs: &[], variables, traces: &[], paths }
}

const fn by_trace(
    tool: &'static str,
    programs: &'static [&'static str],
    traces: &'static [&'static str],
    paths: &'static [&'static str],
) -> Preset {
    Preset { tool, programs, variables: &[], traces, paths }
}

/// The table. Caches and package stores only: never what a person typed, configured or was given (credentials,
/// histories, conversations).
pub const PRESETS: &[Preset] = &[
    by_program(
        "npm",
        &["npm"],
        &["~/.npm", "~/.cache/node-gyp", "/usr/local/lib/node_modules", "$npm_config_cache"],
    ),
    by_program(
        "pnpm",
        &["pnpm"],
        &["~/.cache/pnpm", "~/.local/share/pnpm", "~/.pnpm-store", "~/Library/pnpm", "~/Library/Caches/pnpm"],
    ),
    by_program(
        "yarn",
        &["yarn"],
        &["~/.cache/yarn", "~/.yarn/berry/cache", "~/Library/Caches/Yarn", "$YARN_CACHE_FOLDER"],
    ),
    by_program("corepack", &["corepack"], &["~/.cache/node/corepack"]),
    by_program("bun", &["bun"], &["~/.bun/install/cache"]),
    by_program("deno", &["deno"], &["~/.cache/deno", "$DENO_DIR", "~/Library/Caches/deno"]),
    by_program(
        "cargo",
        &["cargo"],
        &[
            "~/.cargo/registry",
            "~/.cargo/git",
            "$CARGO_HOME/registry",
            "$CARGO_HOME/git",
            "$CARGO_TARGET_DIR",
        ],
    ),
    by_program(
        "sccache",
        &["sccache"],
        &["~/.cache/sccache", "$SCCACHE_DIR", "~/Library/Caches/Mozilla.sccache"],
    ),
    by_program("rustup", &["rustup"], &["~/.rustup", "$RUSTUP_HOME"]),
    by_program(
        "pip",
        &["pip", "pip3", "python3"],
        &[
            "~/.cache/pip",
            "~/.local/lib/python3*",
            "/usr/local/lib/python3*",
            "$PIP_CACHE_DIR",
            "~/Library/Caches/pip",
        ],
    ),
    by_variable("venv", &["VIRTUAL_ENV"], &["$VIRTUAL_ENV"]),
    by_program("uv", &["uv"], &["~/.cache/uv", "~/.local/share/uv", "$UV_CACHE_DIR"]),
    by_program("poetry", &["poetry"], &["~/.cache/pypoetry", "~/Library/Caches/pypoetry"]),
    by_program("pipx", &["pipx"], &["~/.local/pipx", "~/.local/share/pipx"]),
    by_program("pre-commit", &["pre-commit"], &["~/.cache/pre-commit"]),
    by_program(
        "pyenv",
        &["pyenv"],
        &["~/.pyenv/versions", "~/.pyenv/shims", "$PYENV_ROOT/versions", "$PYENV_ROOT/shims"],
    ),
    Preset {
        tool: "conda",
        programs: &["conda", "mamba", "micromamba"],
        variables: &["CONDA_PREFIX"],
        traces: &[],
        paths: &[
            "$CONDA_PREFIX",
            "~/miniconda3/pkgs",
            "~/anaconda3/pkgs",
            "~/miniforge3/pkgs",
            "~/.conda/pkgs",
        ],
    },
    by_variable("nvm", &["NVM_DIR"], &["~/.nvm", "$NVM_DIR"]),
    by_program("volta", &["volta"], &["~/.volta/tools", "~/.volta/cache"]),
    by_program("mise", &["mise"], &["~/.local/share/mise", "~/.cache/mise"]),
    by_program(
        "go",
        &["go"],
        &[
            "~/go/pkg",
            "~/.cache/go-build",
            "$GOMODCACHE",
            "$GOCACHE",
            "$GOPATH/pkg",
            "~/Library/Caches/go-build",
        ],
    ),
    by_program("golangci-lint", &["golangci-lint"], &["~/.cache/golangci-lint"]),
    by_trace(
        "gradle",
        &["gradle"],
        &["~/.gradle", "$GRADLE_USER_HOME"],
        &[
            "~/.gradle/caches",
            "~/.gradle/daemon",
            "~/.gradle/wrapper",
            "~/.gradle/native",
            "$GRADLE_USER_HOME/caches",
            "$GRADLE_USER_HOME/wrapper",
        ],
    ),
    by_trace("maven", &["mvn"], &["~/.m2"], &["~/.m2/repository", "~/.m2/wrapper"]),
    by_program("ccache", &["ccache"], &["~/.ccache", "~/.cache/ccache", "$CCACHE_DIR"]),
    by_program("bazel", &["bazel", "bazelisk"], &["~/.cache/bazel", "~/.cache/bazelisk"]),
    by_program(
        "gem",
        &["gem", "bundle"],
        &["~/.gem", "~/.bundle/cache", "~/.local/share/gem", "/usr/local/lib/ruby"],
    ),
    by_program("composer", &["composer"], &["~/.cache/composer", "~/.composer/cache"]),
    by_program("dotnet", &["dotnet"], &["~/.nuget/packages", "~/.local/share/NuGet", "~/.dotnet/tools"]),
    by_program("stack", &["stack"], &["~/.stack/programs", "~/.stack/snapshots"]),
    by_program("cabal", &["cabal"], &["~/.cabal/packages", "~/.cabal/store", "~/.cache/cabal"]),
    by_program("dart", &["dart", "flutter"], &["~/.pub-cache"]),
    by_program("terraform", &["terraform", "tofu"], &["~/.terraform.d/plugin-cache", "$TF_PLUGIN_CACHE_DIR"]),
    by_program("homebrew", &["brew"], &["~/Library/Caches/Homebrew", "~/.cache/Homebrew"]),
    by_program("xcode", &["xcodebuild"], &["~/Library/Developer/Xcode/DerivedData"]),
    by_trace(
        "playwright",
        &["playwright"],
        &["~/.cache/ms-playwright", "~/Library/Caches/ms-playwright", "$PLAYWRIGHT_BROWSERS_PATH"],
        &["~/.cache/ms-playwright", "~/Library/Caches/ms-playwright", "$PLAYWRIGHT_BROWSERS_PATH"],
    ),
    by_trace(
        "puppeteer",
        &["puppeteer"],
        &["~/.cache/puppeteer", "$PUPPETEER_CACHE_DIR"],
        &["~/.cache/puppeteer", "$PUPPETEER_CACHE_DIR"],
    ),
    by_trace(
        "cypress",
        &["cypress"],
        &["~/.config/Cypress", "~/.cache/Cypress", "~/Library/Caches/Cypress"],
        &["~/.cache/Cypress", "~/Library/Caches/Cypress"],
    ),
    by_program("selenium", &["chromedriver", "geckodriver", "selenium-manager"], &["~/.cache/selenium"]),
    by_program(
        "chromium",
        &["chromium", "chromium-browser", "google-chrome"],
        &["~/.cache/chromium", "~/.cache/google-chrome"],
    ),
    by_program("firefox", &["firefox"], &["~/.cache/mozilla"]),
    by_trace(
        "electron",
        &["electron"],
        &["~/.cache/electron", "~/Library/Caches/electron"],
        &["~/.cache/electron", "~/Library/Caches/electron"],
    ),
    by_trace(
        "electron-builder",
        &["electron-builder"],
        &["~/.cache/electron-builder", "~/Library/Caches/electron-builder"],
        &["~/.cache/electron-builder", "~/Library/Caches/electron-builder"],
    ),
    by_program("neovim", &["nvim"], &["~/.local/state/nvim/swap", "~/.cache/nvim"]),
    by_program("vim", &["vim"], &["~/.cache/vim"]),
    by_program("emacs", &["emacs"], &["~/.cache/emacs", "~/.emacs.d/eln-cache"]),
    by_program("vscode", &["code"], &["~/.config/Code/Cache", "~/.config/Code/CachedData"]),
    by_program("zed", &["zed"], &["~/.cache/zed"]),
    by_program(
        "jetbrains",
        &["idea", "pycharm", "clion", "goland", "webstorm", "rustrover"],
        &["~/.cache/JetBrains"],
    ),
    by_program("amp", &["amp"], &["~/.cache/amp"]),
    by_program(
        "claude",
        &["claude"],
        &["~/.claude/shell-snapshots", "~/.claude/statsig", "~/.cache/claude-cli-nodejs"],
    ),
    by_program("codex", &["codex"], &["~/.codex/log", "~/.codex/tmp"]),
    by_program("copilot", &["copilot"], &["~/.cache/github-copilot"]),
    by_program("gemini", &["gemini"], &["~/.gemini/tmp"]),
    by_program("opencode", &["opencode"], &["~/.cache/opencode"]),
    by_program("qwen", &["qwen"], &["~/.qwen/tmp"]),
];

/// Whether the tool is there, for these homes.
pub fn is_present(world: &dyn World, homes: &[PathBuf], preset: &Preset) -> bool {
    let is_there = |trace: &&str| {
        anchors(world, homes, trace)
            .any(|(base, rest)| matches!(world.look(&base.join(rest)), Look::Found(_)))
    };
    preset.variables.iter().any(|name| world.env(name).is_some_and(|value| !value.is_empty()))
        || preset.programs.iter().any(|program| world.which(program).is_some())
        || preset.traces.iter().any(is_there)
}

/// A path of the table, made absolute.
#[derive(Clone, Debug)]
pub struct StatePath {
    /// The tool's line of the table.
    pub preset: &'static Preset,
    /// What it owns.
    pub pattern: Pattern,
}

/// All paths of the table, for these homes and the environment, present or not. Asks for no file.
///
/// A variable's value counts only where it is a place of its own: absolute, at least two components deep.
pub fn state_paths(world: &dyn World, homes: &[PathBuf], refuse: &dyn Fn(&Path) -> bool) -> Vec<StatePath> {
    let platform = world.platform();
    let fold = platform == Platform::MacOs;
    let mut paths: Vec<StatePath> = Vec::new();
    for preset in PRESETS {
        let others = paths.len();
        let elsewhere = |text: &&&str| text.starts_with("~/Library/") && platform == Platform::Linux;
        let here = preset.paths.iter().filter(|text| !elsewhere(text));
        for (text, (base, rest)) in
            here.flat_map(|text| anchors(world, homes, text).map(move |at| (text, at)))
        {
            let path = one_name(platform, super::paths::normalise(&base.join(rest)));
            if depth(&path) < 2 || text.starts_with('$') && refuse(&path) {
                continue;
            }
            let base = one_name(platform, super::paths::normalise(&base));
            let pattern = Pattern::below(&base, rest, fold);
            // A variable may say what holds without it.
            if !paths[others..].iter().any(|state| state.pattern == pattern) {
                paths.push(StatePath { preset, pattern });
            }
        }
    }
    paths
}

/// The directories that a path of the table begins with, whose names are meant as they are, and the rest of it.
fn anchors<'t>(
    world: &dyn World,
    homes: &[PathBuf],
    text: &'t str,
) -> impl Iterator<Item = (PathBuf, &'t str)> + use<'t> {
    let (bases, rest) = if let Some(rest) = text.strip_prefix("~/") {
        (homes.to_vec(), rest)
    } else if let Some(rest) = text.strip_prefix('$') {
        let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let value = world.env(name).map(|value| PathBuf::from(&*value));
        (value.into_iter().filter(|value| value.is_absolute()).collect(), rest)
    } else {
        (vec![PathBuf::from("/")], text.trim_start_matches('/'))
    };
    bases.into_iter().map(move |base| (base, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::world::memory::MemoryWorld;

    fn world() -> MemoryWorld {
        MemoryWorld::new(Platform::Linux).env("PATH", "/usr/bin").file("/usr/bin/npm", "")
    }

    #[test]
    fn a_tool_is_present_by_its_program_or_its_variable() {
        let named = |tool: &str| PRESETS.iter().find(|preset| preset.tool == tool).expect("in the table");
        let there = |world: MemoryWorld, tool| is_present(&world, &["/home/dev".into()], named(tool));
        assert!(there(world(), "npm"));
        assert!(!there(world(), "cargo"));
        assert!(there(world().env("VIRTUAL_ENV", "/v/env"), "venv"));
        assert!(!there(world(), "venv"));
    }

    /// With node comes everything that a project could fetch, with java whatever builds it: neither is a sign of a certain tool.
    #[test]
    fn a_tool_that_projects_bring_along_is_present_by_what_it_leaves_and_not_by_its_interpreter() {
        let interpreters = ["node", "npx", "java"];
        let mut bare = MemoryWorld::new(Platform::Linux).env("PATH", "/usr/bin");
        for program in interpreters {
            bare = bare.file(&format!("/usr/bin/{program}"), "");
        }
        let home: &[PathBuf] = &["/home/dev".into()];
        let mut seen = 0;
        for preset in PRESETS {
            assert!(!is_present(&bare, home, preset), "{} is not there", preset.tool);
            assert!(!preset.programs.iter().any(|program| interpreters.contains(program)), "{}", preset.tool);
            for trace in preset.traces.iter().filter_map(|trace| trace.strip_prefix("~/")) {
                let left = bare.clone().dir(&format!("/home/dev/{trace}"));
                assert!(is_present(&left, home, preset), "{} left {trace}", preset.tool);
                assert!(!is_present(&left, &["/home/other".into()], preset), "{}", preset.tool);
                seen += 1;
            }
        }
        assert!(seen >= 6, "only {seen} traces");
    }

    #[test]
    fn a_variable_that_says_what_holds_without_it_adds_no_line() {
        let world = world().env("PYENV_ROOT", "/home/dev/.pyenv").env("NVM_DIR", "/home/dev/.nvm");
        let of = |world: &MemoryWorld, tool: &str| {
            let paths = state_paths(world, &["/home/dev".into()], &|_| false);
            paths.iter().filter(|state| state.preset.tool == tool).count()
        };
        assert_eq!((of(&world, "pyenv"), of(&world, "nvm")), (2, 1));
        assert_eq!(of(&world.env("PYENV_ROOT", "/srv/pyenv"), "pyenv"), 4);
    }

    #[test]
    fn a_variable_that_points_at_something_bigger_gives_nothing() {
        let world = world().env("CARGO_HOME", "/").env("VIRTUAL_ENV", "/home/dev").env("GOCACHE", "cache");
        let paths = state_paths(&world, &[], &|path| path == Path::new("/home/dev"));
        let has = |path: &str| paths.iter().any(|state| state.pattern.literal() == Some(path.into()));
        assert!(!has("/home/dev") && !has("/registry") && !has("/cache"));
        assert!(has("/usr/local/lib/node_modules"));
    }

    #[test]
    fn where_home_has_moved_tools_have_their_own_there_too() {
        use crate::policy::{Policy, Start};
        use blastradius_common::Zone;
        let zone = |home: &str, path: &str| {
            let world =
                world().account("dev", "/home/dev").env("HOME", home).work_tree("/builds/p").cwd("/builds/p");
            Policy::load(&world, Start::default()).zone(&world, Path::new(path)).zone
        };
        // As CI systems have it: the account's home is elsewhere, and every tool asks the variable.
        assert_eq!(zone("/builds/home", "/builds/home/.npm/_cacache/x"), Zone::State);
        assert_eq!(zone("/builds/home", "/home/dev/.npm/_cacache/x"), Zone::State);
        assert_eq!(zone("/builds/home", "/builds/home/.ssh/id"), Zone::Config);
        assert_eq!(zone("/home/dev", "/builds/home/.npm/_cacache/x"), Zone::Other);
        for no_home in ["/usr", "/", "home"] {
            assert_eq!(zone(no_home, "/usr/.npm/x"), Zone::System, "{no_home}");
            assert_eq!(zone(no_home, "/.npm/x"), Zone::Other, "{no_home}");
        }
    }

    /// The tools that a developer's machine is expected to hold.
    const EXPECTED: &[&str] = &[
        "npm",
        "pnpm",
        "yarn",
        "cargo",
        "rustup",
        "pip",
        "uv",
        "pyenv",
        "conda",
        "nvm",
        "go",
        "gradle",
        "maven",
        "ccache",
        "neovim",
        "vscode",
        "playwright",
        "puppeteer",
        "claude",
        "codex",
        "gemini",
    ];

    #[test]
    fn every_expected_tool_has_a_row_and_no_tool_two() {
        for tool in EXPECTED {
            assert_eq!(PRESETS.iter().filter(|preset| preset.tool == *tool).count(), 1, "{tool}");
        }
    }

    /// A machine on which one tool is there, and where its first path below the home leads to.
    fn with(preset: &Preset, present: bool, denied: bool) -> Option<(MemoryWorld, String)> {
        let here = |path: &&&str| path.starts_with("~/") && !path.starts_with("~/Library/");
        let owned = preset.paths.iter().find(here)?.replacen('~', "/home/dev", 1);
        let mut world = MemoryWorld::new(Platform::Linux)
            .account("dev", "/home/dev")
            .env("HOME", "/home/dev")
            .env("PATH", "/usr/bin")
            .work_tree("/home/dev/p")
            .cwd("/home/dev/p");
        if present {
            world = match (preset.programs.first(), preset.variables.first()) {
                (Some(program), _) => world.file(&format!("/usr/bin/{program}"), ""),
                (None, Some(variable)) => world.env(variable, "/home/dev/.moved/elsewhere"),
                (None, None) => world,
            };
        }
        if denied {
            world = world.file("/home/dev/p/.blastradius", &format!("deny {owned}"));
        }
        Some((world, owned.replace('*', ".11")))
    }

    #[test]
    fn a_tools_own_is_state_where_the_tool_is_and_only_there_and_deny_beats_it() {
        use crate::policy::{Policy, Start};
        use blastradius_common::Zone;
        for preset in PRESETS {
            let zone = |present, denied| {
                let (world, owned) = with(preset, present, denied)?;
                let policy = Policy::load(&world, Start::default());
                let at = |path: String| policy.zone(&world, Path::new(&path)).zone;
                Some((at(owned.clone()), at(format!("{owned}/x/y"))))
            };
            let Some(there) = zone(true, false) else { continue };
            assert_eq!(there, (Zone::State, Zone::State), "{}", preset.tool);
            let (own, below) = zone(false, false).expect("as before");
            assert!(own != Zone::State && below != Zone::State, "{} is not there", preset.tool);
            assert_eq!(zone(true, true), Some((Zone::Denied, Zone::Denied)), "{} is denied", preset.tool);
        }
    }

    #[test]
    fn scope_shows_the_state_of_tools_that_are_there_and_of_no_others() {
        use crate::policy::{Policy, Start};
        let shown = |preset: &Preset, present| {
            let (world, _) = with(preset, present, false)?;
            let lines = Policy::load(&world, Start::default()).describe(&world);
            let origin = format!("preset: {}", preset.tool);
            Some(lines.iter().filter(|line| line.kind == "state" && line.origin == origin).count())
        };
        for preset in PRESETS {
            let Some(there) = shown(preset, true) else { continue };
            assert!(there > 0, "{}", preset.tool);
            assert_eq!(shown(preset, false), Some(0), "{}", preset.tool);
        }
    }

    #[test]
    fn no_line_names_a_whole_cache_a_home_or_what_people_wrote() {
        for preset in PRESETS {
            assert!(!preset.programs.is_empty() || !preset.variables.is_empty(), "{}", preset.tool);
            for path in preset.paths {
                for forbidden in
                    ["~", "~/", "~/.cache", "~/.config", "~/.local", "~/.cargo", "~/.ssh", "~/.claude"]
                {
                    assert_ne!(path, &forbidden);
                }
                assert!(!path.contains("history") && !path.contains("projects"), "{path}");
            }
        }
    }
}
