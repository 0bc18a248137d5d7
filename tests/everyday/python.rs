//! Python: virtual environments, and pip with wheels that are made on the spot.

use crate::ground::{Ground, Need, can};

const PYTHON: &[Need] = &[Need::Program("python3"), Need::Program("pip3")];

/// Two versions each, of which the second lacks a file of the first, of a package with a command and of one without.
const WHEELS: &str = r#"python3 - <<'PYTHON'
import os, zipfile
os.makedirs("dist", exist_ok=True)
for name, version in [(name, version) for name in ("tool", "library") for version in ("1.0", "2.0")]:
    info = f"everyday_{name}-{version}.dist-info"
    files = {
        f"everyday_{name}/__init__.py": f"def main():\n    print('{name} {version}')\n",
        f"everyday_{name}/only_{version[0]}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: everyday-{name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if name == "tool":
        files[f"{info}/entry_points.txt"] = "[console_scripts]\neveryday-tool = everyday_tool:main\n"
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(f"dist/everyday_{name}-{version}-py3-none-any.whl", "w") as wheel:
        for file, content in files.items():
            wheel.writestr(file, content)
PYTHON"#;

#[test]
fn a_virtual_environment_is_made_filled_upgraded_and_cleared() {
    if !can(&PYTHON[..1]) {
        return;
    }
    let ground = Ground::new();
    ground.before(WHEELS);
    ground.undisturbed(
        "python3 -m venv .venv; pip='.venv/bin/python -m pip --quiet'
         $pip install --no-index dist/everyday_tool-1.0-py3-none-any.whl; .venv/bin/everyday-tool | grep -x 'tool 1.0'
         $pip install -U --no-index dist/everyday_tool-2.0-py3-none-any.whl; .venv/bin/everyday-tool | grep -x 'tool 2.0'
         python3 -m venv --upgrade .venv; .venv/bin/everyday-tool | grep -x 'tool 2.0'
         $pip uninstall -y everyday-tool; [ ! -e .venv/bin/everyday-tool ]; python3 -m venv --clear .venv",
    );
}

#[test]
fn a_virtual_environment_that_was_there_before_is_upgraded_and_cleared() {
    if !can(&PYTHON[..1]) {
        return;
    }
    let ground = Ground::new();
    ground.before(WHEELS);
    ground.before(
        "for place in .venv ../venvs/tool; do
             python3 -m venv $place; $place/bin/python -m pip --quiet install --no-index dist/everyday_tool-1.0-py3-none-any.whl
         done",
    );
    let upgrade = "pip='python -m pip --quiet'
         $pip install -U --no-index dist/everyday_tool-2.0-py3-none-any.whl; everyday-tool | grep -x 'tool 2.0'
         [ -z \"$(find \"$VIRTUAL_ENV\" -name only_1.py)\" ]
         python3 -m venv --upgrade \"$VIRTUAL_ENV\"; $pip uninstall -y everyday-tool; python3 -m venv --clear \"$VIRTUAL_ENV\"";
    ground.undisturbed(&format!(". .venv/bin/activate; {upgrade}"));
    // Elsewhere in the home it is the project's only if it is active when the session begins.
    ground.undisturbed_with(
        Some(("VIRTUAL_ENV", "venvs/tool")),
        &format!(". ../venvs/tool/bin/activate; {upgrade}"),
    );
}

#[test]
fn pip_installs_upgrades_and_removes_for_the_user() {
    if !can(PYTHON) {
        return;
    }
    a_library_comes_and_goes("--user");
}

#[test]
fn pip_installs_upgrades_and_removes_for_the_whole_machine() {
    if !can(&[PYTHON[0], PYTHON[1], Need::Guest]) {
        return;
    }
    a_library_comes_and_goes("");
}

#[test]
fn pip_upgrades_a_command_of_the_whole_machine() {
    if !can(&[PYTHON[0], PYTHON[1], Need::Guest]) {
        return;
    }
    let ground = Ground::new();
    ground.before(WHEELS);
    // The command is not alone there: pip would move the whole directory away.
    ground.before("echo neighbour >/usr/local/bin/neighbour");
    ground.before(&pip("", "install", "dist/everyday_tool-1.0-py3-none-any.whl"));
    let script = [
        pip("", "install -U", "dist/everyday_tool-2.0-py3-none-any.whl"),
        "everyday-tool | grep -x 'tool 2.0'".to_owned(),
        pip("", "uninstall -y", "everyday-tool"),
        "[ ! -e /usr/local/bin/everyday-tool ]".to_owned(),
    ];
    ground.undisturbed(&script.join("\n"));
}

fn a_library_comes_and_goes(place: &str) {
    let ground = Ground::new();
    ground.before(WHEELS);
    ground.before(&pip(place, "install", "dist/everyday_library-1.0-py3-none-any.whl"));
    ground.undisturbed(&upgrade_and_removal(place));
}

fn upgrade_and_removal(place: &str) -> String {
    let runs = |version| {
        format!("python3 -c 'import everyday_library as l; l.main()' | grep -x 'library {version}'")
    };
    let lacks = |module: &str| format!("if python3 -c 'import {module}'; then exit 1; fi");
    let script = [
        runs("1.0"),
        pip(place, "install -U", "dist/everyday_library-2.0-py3-none-any.whl"),
        runs("2.0"),
        lacks("everyday_library.only_1"),
        pip("", "uninstall -y", "everyday-library"),
        lacks("everyday_library"),
    ];
    script.join("\n")
}

/// pip, told that the system's Python may be its.
fn pip(place: &str, verb: &str, what: &str) -> String {
    let index = if verb.starts_with("install") { "--no-index" } else { "" };
    format!("pip3 {verb} {place} --quiet --break-system-packages --root-user-action=ignore {index} {what}")
}
