//! Package managers: what they remove, what they publish, and what they install from elsewhere than the configured
//! source. Removing from a project's own environment (`npm uninstall`, `pip uninstall`) is everyday work.

use blastradius_common::{RuleId, Verdict};

use crate::programs::verbs::{self, Row, Tool, Words, harmless, row, word};
use crate::programs::{Call, Machine, Program, acts};
use crate::shell::value::Field;

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("apt", apt),
    ("apt-get", apt),
    ("aptitude", apt),
    ("dpkg", manage),
    ("dnf", manage),
    ("dnf5", manage),
    ("yum", manage),
    ("tdnf", manage),
    ("microdnf", manage),
    ("rpm", manage),
    ("rpm-ostree", manage),
    ("zypper", manage),
    ("pacman", manage),
    ("yay", manage),
    ("paru", manage),
    ("apk", manage),
    ("opkg", manage),
    ("emerge", manage),
    ("xbps-remove", manage),
    ("xbps-install", manage),
    ("eopkg", manage),
    ("guix", manage),
    ("pkg", manage),
    ("pkg_delete", manage),
    ("snap", manage),
    ("flatpak", manage),
    ("brew", manage),
    ("port", manage),
    ("mas", manage),
    ("nix", manage),
    ("nix-env", manage),
    ("nix-collect-garbage", manage),
    ("winget", manage),
    ("choco", manage),
    ("scoop", manage),
    ("pip", manage),
    ("pip3", manage),
    ("pipx", manage),
    ("uv", manage),
    ("poetry", manage),
    ("pdm", manage),
    ("hatch", manage),
    ("flit", manage),
    ("twine", manage),
    ("conda", manage),
    ("mamba", manage),
    ("micromamba", manage),
    ("gem", manage),
    ("bundle", manage),
    ("rustup", manage),
    ("go", manage),
    ("dotnet", manage),
    ("nuget", manage),
    ("lerna", manage),
    ("vsce", manage),
    ("ovsx", manage),
    ("pod", manage),
    ("mvn", manage),
    ("gradle", manage),
    ("gradlew", manage),
    ("code", manage),
    ("pyenv", manage),
    ("asdf", manage),
    ("mise", manage),
];

/// A package manager.
struct Manager {
    tool: Tool,
    /// Verbs that install.
    installs: &'static [&'static str],
    /// Options with which an install takes its packages from elsewhere.
    foreign: &'static [&'static str],
}

const fn removed(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::PackageRemoval, what)
}

/// Removal of what the user installed for himself: it is back with one command.
const fn dropped(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::PackageRemoval, what).verdict(Verdict::Warn)
}

const fn published(verbs: &'static str) -> Row {
    row(verbs, RuleId::OutwardAction, "publishes a package")
}

const fn withdrawn(verbs: &'static str) -> Row {
    row(verbs, RuleId::RemoteResource, "takes a published package away from others")
}

const fn manager(
    names: &'static [&'static str],
    valued: &'static [&'static str],
    dry: &'static [&'static str],
    rows: &'static [Row],
    installs: &'static [&'static str],
    foreign: &'static [&'static str],
) -> Manager {
    Manager { tool: Tool { names, valued, dry, rows }, installs, foreign }
}

const SOFTWARE: &str = "removes software";
const WITH_CONFIGURATION: &str = "removes software together with its configuration";
const WITH_DATA: &str = "removes software together with its data";

static MANAGERS: &[Manager] = &[
    manager(
        &["apt", "apt-get", "aptitude"],
        &["-o", "--option", "-c", "--config-file", "-t", "--target-release", "-a", "--host-architecture"],
        &["-s", "--just-print", "--recon", "--no-act", "-h", "-d", "--download-only", "--print-uris"],
        &[
            removed("purge", WITH_CONFIGURATION),
            removed("remove|autoremove|auto-remove|autopurge", WITH_CONFIGURATION).with(&["--purge"]),
            removed("remove|autoremove|auto-remove", SOFTWARE),
            removed("autopurge", WITH_CONFIGURATION),
        ],
        &["install", "reinstall"],
        &[],
    ),
    // dpkg(1).
    manager(
        &["dpkg"],
        &["--admindir", "--instdir", "--root", "-D"],
        &["--no-act", "-l", "-L", "-s", "-S", "--list", "--listfiles", "--status", "--search"],
        &[
            removed("", WITH_CONFIGURATION).with(&["-P", "--purge"]),
            removed("", SOFTWARE).with(&["-r", "--remove"]),
            row("", RuleId::PackageSource, "installs a package file").with(&["-i", "--install", "--unpack"]),
        ],
        &[],
        &[],
    ),
    manager(
        &["dnf", "dnf5", "yum", "tdnf", "microdnf"],
        &[
            "-c",
            "--config",
            "--installroot",
            "--releasever",
            "--enablerepo",
            "--disablerepo",
            "--repo",
            "-x",
            "-d",
            "-e",
        ],
        &["--assumeno", "--downloadonly", "-h"],
        &[
            removed("remove|erase|rm|autoremove", SOFTWARE),
            removed("group*|module|groups|grp remove|reset|disable|erase", SOFTWARE),
            removed("group*remove|groupremove|grouperase", SOFTWARE),
            removed("history undo|rollback|redo", "undoes installations"),
            removed("swap", "replaces software by other software"),
        ],
        &["install", "localinstall", "reinstall", "upgrade", "update"],
        &["--repofrompath"],
    ),
    // rpm(8): -q and -V only ask.
    manager(
        &["rpm"],
        &["--root", "--dbpath", "-r", "-D", "--define", "-E", "--eval"],
        &["-q", "--query", "-V", "--verify", "--test", "-K", "--checksig", "--import", "--showrc"],
        &[
            removed("", SOFTWARE).with(&["-e", "--erase"]),
            row("", RuleId::PackageSource, "installs package files").with(&[
                "-i",
                "-U",
                "-F",
                "--install",
                "--upgrade",
                "--freshen",
                "--reinstall",
            ]),
        ],
        &[],
        &[],
    ),
    manager(
        &["rpm-ostree"],
        &[],
        &[],
        &[
            removed("uninstall|remove|reset|rollback|cleanup", SOFTWARE),
            removed("override remove|reset", SOFTWARE),
        ],
        &["install"],
        &[],
    ),
    manager(
        &["zypper"],
        &["-c", "--config", "--root", "-R", "-r", "--repo", "-t", "--type"],
        &["-D", "--download-only", "-d"],
        &[
            removed("remove|rm|rmp|remove-patch", SOFTWARE),
            removed("removerepo|rr", "removes a package source"),
        ],
        &["install", "in"],
        &["--plus-repo", "-p"],
    ),
    // pacman(8), and helpers with its options.
    manager(
        &["pacman", "yay", "paru"],
        &["-r", "--root", "-b", "--dbpath", "--config", "--ignore"],
        &["-p", "--print", "-Q", "--query", "-h"],
        &[
            removed("", SOFTWARE).with(&["-R", "--remove"]),
            row("", RuleId::PackageSource, "installs package files").with(&["-U", "--upgrade"]),
        ],
        &[],
        &[],
    ),
    manager(
        &["apk"],
        &["-X", "--repository", "-p", "--root", "-t", "--virtual"],
        &["-s"],
        &[removed("del", SOFTWARE)],
        &["add"],
        &["-X", "--repository", "--allow-untrusted"],
    ),
    manager(
        &["opkg"],
        &["-d", "-f", "-o"],
        &["--noaction"],
        &[removed("remove", SOFTWARE)],
        &["install"],
        &[],
    ),
    manager(
        &["emerge"],
        &[],
        &["-p", "--pretend"],
        &[removed("", SOFTWARE).with(&["-C", "--unmerge", "-c", "--depclean", "-P", "--prune"])],
        &[],
        &[],
    ),
    manager(
        &["xbps-remove"],
        &["-C", "-r", "-c"],
        &["-n", "-h"],
        &[harmless("").with(&["-O"]), removed("*", SOFTWARE), removed("", SOFTWARE).with(&["-o"])],
        &[],
        &[],
    ),
    manager(
        &["eopkg"],
        &[],
        &["-n"],
        &[removed("remove|rm|remove-orphans|rmo", SOFTWARE)],
        &["install", "it"],
        &[],
    ),
    manager(
        &["guix"],
        &[],
        &["-n"],
        &[
            removed("remove", SOFTWARE),
            removed("package", SOFTWARE).with(&["-r", "--remove", "-d", "--delete-generations"]),
            removed("gc", "removes what no profile refers to").with(&[
                "-d",
                "--delete-generations",
                "-D",
                "--delete",
            ]),
        ],
        &[],
        &[],
    ),
    manager(
        &["pkg", "pkg_delete"],
        &["-c", "-j", "-r", "-o"],
        &["-n", "-N"],
        &[removed("delete|remove|autoremove|uninstall", SOFTWARE)],
        &["add"],
        &[],
    ),
    manager(
        &["snap"],
        &[],
        &[],
        &[
            removed("remove", WITH_DATA).with(&["--purge"]),
            removed("remove", SOFTWARE),
            removed("forget", "removes a snapshot of data"),
        ],
        &["install"],
        &["--dangerous", "--devmode"],
    ),
    manager(
        &["flatpak"],
        &["--installation", "--arch"],
        &[],
        &[
            removed("uninstall|remove", WITH_DATA).with(&["--delete-data"]),
            removed("uninstall|remove", SOFTWARE),
            removed("remote-delete", "removes a package source"),
        ],
        &["install"],
        &["--from", "--bundle"],
    ),
    manager(
        &["brew"],
        &[],
        &["-n"],
        &[
            removed("uninstall|remove|rm", WITH_DATA).with(&["--zap"]),
            removed("uninstall|remove|rm|autoremove", SOFTWARE),
            removed("bundle cleanup", SOFTWARE).with(&["--force", "-f"]),
            dropped("untap", "removes a package source"),
        ],
        &["install", "reinstall"],
        &[],
    ),
    manager(&["port"], &["-D"], &["-y"], &[removed("uninstall|reclaim", SOFTWARE)], &[], &[]),
    manager(&["mas"], &[], &[], &[removed("uninstall", SOFTWARE)], &[], &[]),
    manager(
        &["nix"],
        &[],
        &[],
        &[
            dropped("profile remove", SOFTWARE),
            removed("profile wipe-history", "removes the generations that software could be rolled back to"),
        ],
        &[],
        &[],
    ),
    manager(
        &["nix-env"],
        &["-p", "--profile", "-f", "-I"],
        &[],
        &[
            removed("", "removes the generations that software could be rolled back to")
                .with(&["--delete-generations"]),
            dropped("", SOFTWARE).with(&["-e", "--uninstall"]),
        ],
        &[],
        &[],
    ),
    manager(
        &["nix-collect-garbage"],
        &[],
        &[],
        &[removed("", "removes the generations that software could be rolled back to").with(&[
            "-d",
            "--delete-old",
            "--delete-older-than",
        ])],
        &[],
        &[],
    ),
    manager(&["winget", "choco", "scoop"], &[], &["-h"], &[removed("uninstall|remove", SOFTWARE)], &[], &[]),
    manager(
        &["pip", "pip3"],
        &["-r", "--requirement", "-c", "--constraint", "-t", "--target", "--python", "-C"],
        &[],
        &[],
        &["install"],
        &[
            "-e",
            "--editable",
            "-i",
            "--index-url",
            "--extra-index-url",
            "-f",
            "--find-links",
            "--trusted-host",
        ],
    ),
    manager(
        &["pipx"],
        &["--python"],
        &[],
        &[removed("uninstall-all", SOFTWARE), dropped("uninstall", SOFTWARE)],
        &["install"],
        &["--index-url", "-e", "--editable"],
    ),
    manager(
        &["uv"],
        &["--directory", "--project", "--python", "-p", "--config-file", "--cache-dir"],
        &[],
        &[published("publish"), dropped("tool uninstall", SOFTWARE), dropped("python uninstall", SOFTWARE)],
        &["pip install", "add", "tool install"],
        &["--index-url", "--extra-index-url", "--index", "-e", "--editable", "--git"],
    ),
    manager(
        &["poetry", "pdm", "hatch", "flit"],
        &["-C", "--directory", "-P", "--project", "-p"],
        &[],
        &[
            published("publish"),
            dropped("env remove|prune", "removes an environment"),
            dropped("self remove|uninstall", SOFTWARE),
        ],
        &["add"],
        &["--source"],
    ),
    manager(&["twine"], &[], &[], &[published("upload")], &[], &[]),
    manager(
        &["conda", "mamba", "micromamba"],
        &["-n", "--name", "-p", "--prefix", "-c", "--channel"],
        &["-d"],
        &[
            removed("env remove", "removes a whole environment"),
            removed("remove|uninstall", "removes a whole environment").with(&["--all"]),
            dropped("remove|uninstall", SOFTWARE),
        ],
        &["install", "create"],
        &[],
    ),
    manager(
        &["gem"],
        &[],
        &[],
        &[
            published("push"),
            withdrawn("yank"),
            removed("uninstall", SOFTWARE).with(&["-a", "--all"]),
            dropped("uninstall|cleanup", SOFTWARE),
        ],
        &["install"],
        &["-s", "--source"],
    ),
    manager(&["bundle"], &[], &[], &[dropped("clean", SOFTWARE).with(&["--force"])], &[], &[]),
    manager(&["composer"], &["-d", "--working-dir"], &[], &[dropped("global remove", SOFTWARE)], &[], &[]),
    manager(
        &["rustup"],
        &[],
        &[],
        &[
            removed("self uninstall", "removes every toolchain"),
            dropped("toolchain uninstall|remove", SOFTWARE),
            dropped("uninstall|target|component remove", SOFTWARE),
        ],
        &[],
        &[],
    ),
    manager(&["go"], &[], &["-n"], &[], &[], &[]),
    manager(
        &["dotnet"],
        &[],
        &[],
        &[
            published("nuget push"),
            withdrawn("nuget delete"),
            dropped("tool|workload uninstall", SOFTWARE),
            row("ef database drop", RuleId::RemoteResource, "drops a database"),
        ],
        &[],
        &[],
    ),
    manager(&["nuget"], &[], &[], &[published("push"), withdrawn("delete")], &[], &[]),
    manager(
        &["lerna", "vsce", "ovsx"],
        &[],
        &[],
        &[published("publish"), withdrawn("unpublish|unpublish-*")],
        &[],
        &[],
    ),
    manager(&["pod"], &[], &[], &[published("trunk push"), withdrawn("trunk delete|deprecate")], &[], &[]),
    manager(
        &["mvn"],
        &["-f", "-pl", "-P", "-s"],
        &[],
        &[published("deploy"), published("* deploy"), published("* * deploy"), published("release:perform")],
        &[],
        &[],
    ),
    manager(
        &["gradle", "gradlew"],
        &["-p", "-b"],
        &["-m"],
        &[published("publish*"), published("* publish*")],
        &[],
        &[],
    ),
    manager(&["code"], &[], &[], &[dropped("", SOFTWARE).with(&["--uninstall-extension"])], &[], &[]),
    manager(&["pyenv", "asdf", "mise"], &[], &[], &[dropped("uninstall|plugin*", SOFTWARE)], &[], &[]),
    // The rest is theirs whose scripts recipes.rs runs.
    manager(
        &["npm", "pnpm", "yarn", "bun"],
        &["--prefix", "-C", "--dir", "--cwd", "--registry", "-w", "--workspace", "--filter"],
        &[],
        &[
            published("publish"),
            published("npm publish"),
            withdrawn("unpublish"),
            withdrawn("deprecate|owner|access|dist-tag|team|token rm|remove|revoke|set|deprecate"),
            dropped("uninstall|remove|rm|r|un|unlink|global", SOFTWARE).with(&["-g", "--global"]),
            dropped("global remove", SOFTWARE),
        ],
        &["install", "i", "add"],
        &["--registry"],
    ),
    manager(
        &["cargo"],
        &["--manifest-path", "--config", "-C", "-Z", "--color"],
        &["-n"],
        &[
            published("publish"),
            withdrawn("yank"),
            withdrawn("owner").with(&["-r", "--remove"]),
            dropped("uninstall", SOFTWARE),
        ],
        &["install", "add"],
        &["--git", "--path", "--index", "--registry"],
    ),
];

/// Reads a call of any manager in the table.
pub(crate) fn manage(call: &Call<'_>, machine: &mut dyn Machine) {
    let Some(manager) = MANAGERS.iter().find(|manager| manager.tool.names.contains(&call.name)) else {
        return;
    };
    if verbs::read(std::slice::from_ref(&manager.tool), call, machine) {
        return;
    }
    let words = Words::sort(call.args, manager.tool.valued);
    let Some(verb) = manager.installs.iter().find(|verb| words.begin_with(verb)) else { return };
    let skipped = verb.split(' ').count();
    let foreign = words.operands.iter().skip(skipped).find(|operand| is_foreign(operand));
    if foreign.is_some() || words.has(manager.foreign) {
        let object = foreign.map_or_else(|| words.objects(skipped), |operand| operand.source.to_string());
        acts::thing(
            machine,
            RuleId::PackageSource,
            "installs from elsewhere than the configured source",
            object,
        );
    }
}

/// A package that is named by a URL, a repository or a file.
fn is_foreign(operand: &Field) -> bool {
    const SCHEMES: &[&str] = &[
        "git+",
        "git:",
        "git@",
        "http:",
        "https:",
        "ssh:",
        "file:",
        "github:",
        "gitlab:",
        "bitbucket:",
        "hg+",
        "svn+",
    ];
    const FILES: &[&str] = &[
        ".deb", ".rpm", ".apk", ".tgz", ".tar.gz", ".whl", ".zip", ".gem", ".snap", ".flatpak", ".tar.zst",
        ".tar.xz",
    ];
    let known = word(operand);
    SCHEMES.iter().any(|scheme| known.starts_with(scheme) || known.contains(&format!("@ {scheme}")))
        || FILES.iter().any(|suffix| known.ends_with(suffix))
        || known.starts_with(['/', '.'])
}

/// apt-get(8): like the others, and `install NAME-` removes NAME.
fn apt(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-o", "--option", "-c", "--config-file", "-t", "--target-release"]);
    let removed = words.operands.iter().skip(1).find(|operand| word(operand).ends_with('-'));
    if let (true, Some(operand)) = (words.begin_with("install"), removed)
        && !words.has(&["-s", "--simulate", "--just-print", "--dry-run", "--help"])
    {
        return acts::thing(machine, RuleId::PackageRemoval, SOFTWARE, operand.source.to_string());
    }
    manage(call, machine);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(line: &str) -> String {
        let name = line.split(' ').next().unwrap_or_default();
        let known = PROGRAMS.iter().find(|(known, _)| *known == name);
        let program = known.map_or(manage as Program, |(_, program)| *program);
        Recorder::default().call(program, line).told().join(" ")
    }

    #[test]
    fn removal_of_system_software_is_asked_about() {
        for line in [
            "apt purge nginx",
            "apt-get purge -y nginx",
            "apt-get -y -o a=b remove nginx",
            "apt remove nginx",
            "apt-get autoremove --purge",
            "apt install nginx-",
            "dpkg --purge nginx",
            "dpkg -P nginx",
            "dpkg -r nginx",
            "dnf -y remove nginx",
            "yum erase nginx",
            "rpm -e nginx",
            "zypper rm nginx",
            "pacman -Rns nginx",
            "apk del nginx",
            "snap remove --purge nginx",
            "flatpak uninstall --delete-data x",
            "brew uninstall --zap x",
            "emerge -C x",
            "conda env remove -n x",
            "conda remove --all -n x",
            "nix-collect-garbage -d",
        ] {
            assert!(told(line).starts_with("[package-removal default]"), "{line}: {}", told(line));
        }
    }

    #[test]
    fn removal_of_what_the_user_installed_is_mentioned() {
        for line in [
            "npm uninstall -g x",
            "cargo uninstall x",
            "pipx uninstall x",
            "gem uninstall x",
            "conda remove x",
        ] {
            assert!(told(line).starts_with("[package-removal warn]"), "{line}: {}", told(line));
        }
    }

    #[test]
    fn installs_from_elsewhere_are_mentioned() {
        for line in [
            "pip install git+https://x.example/a.git",
            "pip install -e .",
            "pip install ./x.whl",
            "pip install --index-url https://x.example a",
            "npm install github:a/b",
            "npm i ./x",
            "apt install ./x.deb",
            "dpkg -i x.deb",
            "rpm -Uvh x.rpm",
            "pacman -U x.pkg.tar.zst",
            "dnf install https://x.example/x.rpm",
            "cargo install --git https://x.example/a",
            "uv pip install git+https://x.example/a",
        ] {
            assert!(told(line).starts_with("[package-source default]"), "{line}: {}", told(line));
        }
    }

    #[test]
    fn publishing_is_mentioned_and_withdrawing_asked_about() {
        for line in [
            "npm publish",
            "cargo publish",
            "twine upload dist/*",
            "gem push x.gem",
            "poetry publish",
            "mvn clean deploy",
        ] {
            assert!(told(line).starts_with("[outward-action default]"), "{line}: {}", told(line));
        }
        for line in ["npm unpublish x", "cargo yank x", "gem yank x"] {
            assert!(told(line).starts_with("[remote-resource default]"), "{line}: {}", told(line));
        }
    }

    #[test]
    fn everyday_package_work_is_harmless() {
        for line in [
            "apt list --installed",
            "apt-get install -y jq",
            "apt-get update",
            "apt-get -s purge nginx",
            "apt-get clean",
            "dpkg -l",
            "dpkg -L nginx",
            "dnf install x",
            "dnf --assumeno remove x",
            "rpm -qi x",
            "rpm -qa",
            "pacman -Syu",
            "pacman -Rp x",
            "pacman -Qe",
            "apk add x",
            "brew install x",
            "brew cleanup",
            "snap list",
            "pip install -r requirements.txt",
            "pip uninstall -y foo",
            "pip cache purge",
            "npm install",
            "npm uninstall x",
            "npm ci",
            "npm publish --dry-run",
            "cargo install ripgrep",
            "cargo publish --dry-run",
            "uv sync",
            "go clean -modcache",
            "gem list",
        ] {
            assert_eq!(told(line), "", "{line}");
        }
    }
}
