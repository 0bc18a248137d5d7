use super::PROGRAMS;
use crate::programs::Call;
use crate::programs::Input;
use crate::programs::testing::{Recorder, fields};
use crate::shell::value::{Abstract, Cause, Field};

/// Calls an interpreter with code as one argument.
fn with(recorder: Recorder, name: &str, option: &str, code: &str, args: &[&str]) -> Recorder {
    let mut recorder = recorder.env("HOME", "/home/dev");
    let mut argv: Vec<Field> = if option.is_empty() { Vec::new() } else { fields(option) };
    argv.push(Field::literal(code));
    argv.extend(args.iter().map(|arg| Field::literal(arg)));
    let program = PROGRAMS.iter().find(|(known, _)| *known == name).expect("a program of the family").1;
    program(&Call { name, args: &argv }, &mut recorder);
    recorder
}

fn run(name: &str, option: &str, code: &str) -> Recorder {
    with(Recorder::default(), name, option, code, &[])
}

fn python(code: &str) -> Vec<String> {
    run("python3", "-c", code).told()
}

fn node(code: &str) -> Vec<String> {
    run("node", "-e", code).told()
}

#[test]
fn python_deletes_what_its_literals_say() {
    for (code, told) in [
        ("import shutil; shutil.rmtree('/etc')", "remove-tree /etc"),
        ("import shutil as s\ns.rmtree(\"/etc\", ignore_errors=True)", "remove-tree /etc"),
        ("from shutil import rmtree as wipe\nwipe('/var/tmp/./build/')", "remove-tree /var/tmp/./build/"),
        ("from shutil import *\nrmtree('/etc')", "remove-tree /etc"),
        ("import shutil,os; shutil.rmtree(os.path.expanduser('~'))", "remove-tree /home/dev"),
        ("import shutil,os; shutil.rmtree(os.environ['HOME'])", "remove-tree /home/dev"),
        ("import shutil,os; shutil.rmtree(os.environ.get('NOPE', '/x'))", "remove-tree /x"),
        (
            "import shutil,os; shutil.rmtree(os.path.join(os.getenv('HOME'), 'docs'))",
            "remove-tree /home/dev/docs",
        ),
        ("import shutil; shutil.rmtree('/home/' + 'dev')", "remove-tree /home/dev"),
        ("import shutil; u = 'dev'; shutil.rmtree(f'/home/{u}/x')", "remove-tree /home/dev/x"),
        ("import shutil; shutil.rmtree('/home/%s' % 'dev')", "remove-tree /home/dev"),
        ("import os; os.remove('a' 'b')", "remove ab"),
        ("from pathlib import Path; Path('~/x').expanduser().unlink()", "remove /home/dev/x"),
        ("from pathlib import Path\np = Path.home() / 'docs'\np.rmdir()", "remove /home/dev/docs"),
        ("import shutil, pathlib; shutil.rmtree(pathlib.Path('/a', 'b'))", "remove-tree /a/b"),
        ("open('/etc/passwd', 'w').close()", "truncate /etc/passwd"),
        ("with open('x', mode='w') as f: f.write('y')", "truncate x"),
        ("from pathlib import Path; Path('x').write_text('')", "truncate x"),
        ("import os\nfor p in ['/etc']:\n    os.rmdir(p)", "remove /etc"),
        ("import os, glob\n[os.remove(f) for f in glob.glob('/x/*.o')]", "remove /x (*.o) contents"),
        (
            "import os\nfor f in os.listdir('/x'):\n  os.remove(os.path.join('/x', f))",
            "remove /x (its entries) contents",
        ),
        ("def wipe(p):\n    import shutil\n    shutil.rmtree(p)\nwipe('/etc')", "remove-tree /etc"),
        ("__import__('shutil').rmtree('/etc')", "remove-tree /etc"),
        ("exec(\"import os; os.remove('/etc')\")", "remove /etc"),
        ("import os\nos.chdir('/')\nos.remove('etc')", "remove etc"),
    ] {
        assert_eq!(python(code), [told], "{code}");
    }
}

#[test]
fn a_member_may_be_named_by_text() {
    assert_eq!(python("import shutil\ngetattr(shutil, 'rmtree')('/etc')"), ["remove-tree /etc"]);
    assert_eq!(python("import shutil\ngetattr(shutil, 'disk_usage')('/etc')"), [""; 0]);
}

#[test]
fn code_in_a_file_knows_where_it_stands() {
    let told = |program: &str, path: &str, code: &str| {
        let family = PROGRAMS.iter().find(|(name, _)| *name == program).expect("a program of the family").1;
        Recorder::default().file(path, code).call(family, &format!("{program} {path}")).told()
    };
    let python = "import shutil, pathlib\nshutil.rmtree(pathlib.Path(__file__).parents[1])";
    assert_eq!(told("python3", "/srv/a/b/x.py", python), ["remove-tree /srv/a"]);
    let node = "require('fs').rmSync(__dirname + '/out', {recursive: true})";
    assert_eq!(told("node", "/srv/a/x.js", node), ["remove-tree /srv/a/out"]);
    let linked = Recorder::default().file("/srv/x.py", python).link("/w/link.py", "/srv/x.py");
    let family = PROGRAMS.iter().find(|(name, _)| *name == "python3").expect("a program of the family").1;
    assert!(linked.call(family, "python3 /w/link.py").told().iter().all(|told| !told.contains("/w")));
}

#[test]
fn python_walks_below_a_root() {
    let code = "import os\nfor root, dirs, files in os.walk('/x', topdown=False):\n    for f in files:\n        \
                os.remove(os.path.join(root, f))\n    for d in dirs:\n        os.rmdir(os.path.join(root, d))\n";
    assert_eq!(python(code), ["remove-tree /x (everything below) contents"; 2]);
    let narrowed = "import os\nfor root, _, files in os.walk('.'):\n  for f in files:\n    if f.endswith('.pyc'):\n      os.remove(os.path.join(root, f))";
    let recorder = run("python3", "-c", narrowed);
    let crate::policy::effect::Effect::Path { target, .. } = &recorder.effects[0] else { panic!("a path") };
    assert!(target.selection.narrow_by_name && target.selection.names == ["*.pyc"]);
}

#[test]
fn what_python_only_mentions_is_harmless() {
    for code in [
        "print('rm -rf ~')",
        "# shutil.rmtree('/etc')",
        "'''shutil.rmtree(\"/etc\")'''",
        "import shutil; print(\"shutil.rmtree('/etc')\")",
        "import shutil, tempfile; shutil.rmtree(tempfile.mkdtemp())",
        "import tempfile, shutil, os\nd = tempfile.mkdtemp()\nshutil.rmtree(os.path.join(d, 'x'))\nshutil.rmtree(d)",
        "import tempfile, shutil\nwith tempfile.TemporaryDirectory() as d:\n  shutil.rmtree(d + '/x')",
        "x = [1, 2]; x.remove(1)",
        "s = 'a'.replace('a', '/etc')",
        "open('/etc/passwd').read()",
        "open('/etc/passwd', 'rb')",
        "def rmtree(path): pass",
        "import os; os.path.exists('/etc')",
        "git branch $name",
    ] {
        let recorder = run("python3", "-c", code);
        assert!(recorder.is_harmless(), "{code}: {:?} {:?}", recorder.told(), recorder.sourced());
    }
}

#[test]
fn what_python_learns_at_run_time_is_unknown() {
    for code in [
        "import shutil,sys; shutil.rmtree(input())",
        "import shutil; shutil.rmtree(path)",
        "import os\nfor line in open('x'):\n    os.remove(line)",
    ] {
        let told = python(code);
        assert_eq!(told.len(), 1, "{code}: {told:?}");
        assert!(told[0].contains('?'), "{code}: {told:?}");
    }
    // Given on the command line it is known.
    let code = "import shutil,sys; shutil.rmtree(sys.argv[1])";
    assert_eq!(with(Recorder::default(), "python3", "-c", code, &["/etc"]).told(), ["remove-tree /etc"]);
}

#[test]
fn python_removes_the_parent_where_the_name_below_it_is_lost() {
    let joined = python("import os,shutil; top=''; shutil.rmtree(os.path.join('site', top))");
    assert_eq!(joined.len(), 1, "{joined:?}");
    let second = python("import shutil; shutil.rmtree('results', 'machine_1')");
    assert_eq!(second.len(), 2, "{second:?}");
    assert_eq!(python("import shutil; shutil.rmtree('results', True)").len(), 1);
}

#[test]
fn python_truncates_through_a_descriptor() {
    let told = python("import os; f=os.open('/etc/hosts', os.O_RDWR); os.ftruncate(f, 0)");
    assert_eq!(told, ["truncate /etc/hosts"]);
}

#[test]
fn python_has_others_run_things() {
    let sourced = |code: &str| run("python3", "-c", code).sourced().join("|");
    assert_eq!(sourced("import os; os.system(\"rm -rf /\")"), "rm -rf /");
    assert_eq!(sourced("import subprocess as sp; sp.run('rm -rf /', shell=True)"), "rm -rf /");
    assert_eq!(sourced("d='/etc'\nimport os\nos.system(f'rm -rf {d}')"), "rm -rf /etc");
    let ran = |code: &str| run("python3", "-c", code).ran().join("|");
    assert_eq!(ran("import subprocess; subprocess.run(['rm', '-rf', '/'])"), "rm -rf /");
    assert_eq!(
        ran("import subprocess\nfor d in ['/a', '/b']:\n  subprocess.check_call(['rm', '-rf', d])"),
        "rm -rf /a|rm -rf /b"
    );
    assert_eq!(ran("import subprocess; subprocess.run('rm -rf /'.split())"), "rm -rf /");
    assert_eq!(ran("import os; os.execvp('rm', ['rm', '-rf', '/'])"), "rm -rf /");
    assert_eq!(ran("from subprocess import run; run(args=['rm', '/'])"), "rm /");
    let elsewhere = run("python3", "-c", "import subprocess; subprocess.run(['make'], cwd='/x')");
    assert_eq!(
        elsewhere.argvs[0].surroundings.cwd,
        Some(crate::policy::effect::Base::Known(std::rc::Rc::new("/x".into())))
    );
}

#[test]
fn modules_are_programs() {
    let ran = |line: &str| Recorder::default().call(super::python, line).ran().join("|");
    assert_eq!(ran("python3 -m pip uninstall -y x"), "pip uninstall -y x");
    assert_eq!(ran("python3 -Im pip install x"), "pip install x");
    assert!(Recorder::default().call(super::python, "python3 -m http.server").is_harmless());
    assert_eq!(
        Recorder::default().call(super::python, "python -m venv --clear .venv").told(),
        ["remove-tree .venv"]
    );
    assert!(Recorder::default().call(super::python, "python3 --version").is_harmless());
}

#[test]
fn code_comes_from_files_and_from_stdin() {
    let piped =
        Recorder::default().stdin(Input::Text(Abstract::known("import shutil\nshutil.rmtree('/usr')\n")));
    assert_eq!(piped.call(super::python, "python3 -").told(), ["remove-tree /usr"]);
    let piped = Recorder::default().stdin(Input::Text(Abstract::known("import os; os.remove('/usr')")));
    assert_eq!(piped.call(super::python, "python3").told(), ["remove /usr"]);
    let file = || {
        Recorder::default().file(
            "x.py",
            "import shutil, sys\nshutil.rmtree('/usr')\nshutil.rmtree(sys.argv[1])\nshutil.rmtree(unknown)",
        )
    };
    assert_eq!(file().call(super::python, "python3 -u x.py").told(), ["remove-tree /usr"]);
    assert_eq!(
        file().call(super::python, "python3 x.py /etc").told(),
        ["remove-tree /usr", "remove-tree /etc"]
    );
    let network = Input::Unknown { from: "curl x".into(), network: true, decoded: false };
    let told = Recorder::default().stdin(network).call(super::python, "python3 -").told();
    assert_eq!(told, ["[network-code default] curl x"]);
}

#[test]
fn a_hole_within_a_string_stays_a_hole() {
    let mut code = Abstract::known("import shutil; shutil.rmtree('/home/");
    code.push(&Abstract::unknown(Cause::Input("x".into())));
    code.push_text("/y')");
    let mut recorder = Recorder::default();
    let field = Field { text: code, glob: None, source: "code".into(), tilde: false };
    super::python(&Call { name: "python", args: &[Field::literal("-c"), field] }, &mut recorder);
    assert_eq!(recorder.told(), ["remove-tree /home/?/y"]);
    let field = Field { text: Abstract::unknown(Cause::Input("x".into())), ..Field::literal("$CODE") };
    let mut recorder = Recorder::default();
    super::python(&Call { name: "python", args: &[Field::literal("-c"), field] }, &mut recorder);
    assert_eq!(recorder.told(), ["[unknown-code default] "]);
}

#[test]
fn javascript_deletes_what_its_literals_say() {
    for (code, told) in [
        ("require('fs').rmSync('/home/user', {recursive: true})", "remove-tree /home/user"),
        ("fs.rmSync(process.env.HOME,{recursive:true,force:true})", "remove-tree /home/dev"),
        ("const {rmSync: wipe} = require('node:fs'); wipe('/etc', { recursive: true })", "remove-tree /etc"),
        ("import { unlink as u } from 'fs/promises'\nawait u('/etc/x')", "remove /etc/x"),
        (
            "const fs = require('fs').promises; fs.rm(`${process.env.HOME}/x`, {recursive: !0})",
            "remove-tree /home/dev/x",
        ),
        (
            "const p = require('path').join(require('os').homedir(), 'x'); require('fs').unlinkSync(p)",
            "remove /home/dev/x",
        ),
        ("require('rimraf').sync('dist')", "remove-tree dist"),
        ("fs.readdirSync('/x').forEach(f => fs.unlinkSync('/x/' + f))", "remove /x (its entries) contents"),
        (
            "for (const f of fs.readdirSync('/x')) { fs.unlinkSync(path.join('/x', f)) }",
            "remove /x (its entries) contents",
        ),
        ("function wipe(d) { fs.rmSync(d, {recursive: true}) }\nwipe('/etc')", "remove-tree /etc"),
        ("['/etc'].forEach(function (d) { fs.rmSync(d) })", "remove /etc"),
        ("fs.writeFileSync('/etc/passwd', '')", "truncate /etc/passwd"),
        ("import('fs').then(fs => fs.rmSync('/usr'))", "remove /usr"),
        ("load().then(m => m.rmSync('/usr'))", "remove /usr"),
        ("Deno.removeSync('/etc', {recursive: true})", "remove-tree /etc"),
    ] {
        assert_eq!(node(code), [told], "{code}");
    }
    for code in [
        "console.log('rm -rf /')",
        "// fs.rmSync('/etc')",
        "/* fs.rmSync('/etc') */ 1",
        "/fs.rmSync('x')/.exec('y')",
        "require('fs').rmSync(require('fs').mkdtempSync('/tmp/x'), {recursive: true})",
        "'a'.replace(/b/, 'c')",
        "map.delete('/etc')",
    ] {
        let recorder = run("node", "-e", code);
        assert!(recorder.is_harmless(), "{code}: {:?} {:?}", recorder.told(), recorder.sourced());
    }
}

#[test]
fn javascript_has_others_run_things() {
    let sourced = |code: &str| run("node", "-e", code).sourced().join("|");
    assert_eq!(sourced("require('child_process').execSync('rm -rf /')"), "rm -rf /");
    assert_eq!(sourced("const { exec } = require('child_process'); exec(`rm -rf ${'/'}`)"), "rm -rf /");
    assert_eq!(sourced("await Bun.$`rm -rf /`"), "rm -rf /");
    assert_eq!(sourced("/x/.exec('rm -rf /')"), "");
    // A file of data is its data.
    let recorder = Recorder::default().file("./package.json", r#"{"scripts": {"clean": "rm -rf ~/docs"}}"#);
    let code = "require('child_process').execSync(require('./package.json').scripts.clean)";
    assert_eq!(with(recorder, "node", "-e", code, &[]).sourced().join("|"), "rm -rf ~/docs");
    let ran = |code: &str| run("node", "-e", code).ran().join("|");
    assert_eq!(
        ran("const c=require('child_process');c.execFileSync('git',['clean','-fdq'])"),
        "git clean -fdq"
    );
    assert_eq!(ran("require('child_process').spawn('rm', ['-rf', '/'])"), "rm -rf /");
}

#[test]
fn perl_deletes_what_its_literals_say() {
    for (option, code, told) in [
        ("-MFile::Path -e", "rmtree(\"/home/dev\")", "remove-tree /home/dev"),
        ("-MFile::Path=remove_tree -e", "remove_tree('/etc')", "remove-tree /etc"),
        ("-e", "use File::Path qw(remove_tree); remove_tree '/etc';", "remove-tree /etc"),
        ("-e", "unlink '/etc/passwd' or die", "remove /etc/passwd"),
        ("-e", "unlink glob(\"/x/*\")", "remove /x (*) contents"),
        ("-e", "unlink </x/*.o>", "remove /x (*.o) contents"),
        ("-e", "unlink for </x/*>", "remove /x (*) contents"),
        ("-e", "for my $f (qw(/etc)) { unlink $f; }", "remove /etc"),
        ("-e", "unlink \"$ENV{HOME}/x\"", "remove /home/dev/x"),
        ("-e", "my $d = $ENV{HOME} . '/x'; rmdir $d", "remove /home/dev/x"),
        ("-e", "open(my $f, '>', '/etc/passwd')", "truncate /etc/passwd"),
        ("-e", "open F, '>/etc/passwd'", "truncate /etc/passwd"),
    ] {
        assert_eq!(run("perl", option, code).told(), [told], "{code}");
    }
    let sourced = |code: &str| run("perl", "-e", code).sourced().join("|");
    assert_eq!(sourced("system('rm -rf /home/user')"), "rm -rf /home/user");
    assert_eq!(sourced("`rm -rf /`"), "rm -rf /");
    assert_eq!(sourced("print qx{rm -rf /}"), "rm -rf /");
    assert_eq!(run("perl", "-e", "system 'rm', '-rf', '/'").ran(), ["rm -rf /"]);
    for code in [
        "s/unlink 'a'/b/",
        "print 'unlink \"/etc\"'",
        "# unlink '/etc'",
        "$x =~ tr/a-z/A-Z/; print",
        "open(F, '<', '/etc/passwd')",
    ] {
        assert!(run("perl", "-ne", code).is_harmless(), "{code}: {:?}", run("perl", "-ne", code).told());
    }
}

#[test]
fn perl_edits_its_operands_in_place() {
    let recorder = with(Recorder::default(), "perl", "-pi -e", "s/a/b/", &["src/x.rs"]);
    assert_eq!(recorder.told(), ["replace src/x.rs"]);
}

#[test]
fn ruby_deletes_what_its_literals_say() {
    assert!(run("ruby", "-e", "puts %q(system 'rm -rf /'); puts %w[rm -rf /]").is_harmless());
    for (code, told) in [
        ("require 'fileutils'; FileUtils.rm_rf('/etc')", "remove-tree /etc"),
        ("FileUtils.rm_rf \"#{Dir.home}/x\"", "remove-tree /home/dev/x"),
        ("FileUtils.rm_rf(File.join(ENV['HOME'], 'x'))", "remove-tree /home/dev/x"),
        ("FileUtils.rm_rf File.expand_path('~/x')", "remove-tree /home/dev/x"),
        ("File.delete('/etc/passwd')", "remove /etc/passwd"),
        ("Dir.glob('/x/*.o').each { |f| File.delete(f) }", "remove /x (*.o) contents"),
        ("Dir['/x/*.o'].each do |f|\n  File.delete f\nend", "remove /x (*.o) contents"),
        ("%w[/etc].each { |d| FileUtils.rm_r d }", "remove-tree /etc"),
        ("FileUtils.rm_rf(Dir.glob('/x/*'))", "remove-tree /x (*) contents"),
    ] {
        assert_eq!(run("ruby", "-e", code).told(), [told], "{code}");
    }
    assert_eq!(run("ruby", "-e", "system('rm -rf /')").sourced(), ["rm -rf /"]);
    assert_eq!(run("ruby", "-e", "`rm -rf /`").sourced(), ["rm -rf /"]);
    assert_eq!(run("ruby", "-e", "system 'rm', '-rf', '/'").ran(), ["rm -rf /"]);
    for code in [
        "puts 'rm -rf /'",
        "h = {}; h.delete(:x)",
        "# File.delete('/etc')",
        "Dir.mktmpdir { |d| FileUtils.rm_rf(d) }",
    ] {
        assert!(
            run("ruby", "-e", code)
                .effects
                .iter()
                .all(|effect| crate::programs::testing::tell(effect).contains('?')),
            "{code}"
        );
    }
}

#[test]
fn php_and_lua_run_and_delete() {
    assert_eq!(run("php", "-r", "system(\"rm -rf /\");").sourced(), ["rm -rf /"]);
    assert_eq!(run("php", "-r", "unlink(getenv('HOME') . '/x');").told(), ["remove /home/dev/x"]);
    assert_eq!(run("php", "-r", "array_map('unlink', glob('/x/*.o'));").told(), ["remove /x (*.o) contents"]);
    assert_eq!(
        run("php", "-r", "foreach (glob('/x/*') as $f) { unlink($f); }").told(),
        ["remove /x (*) contents"]
    );
    assert!(run("php", "-r", "echo 'unlink(\"/etc\")';").is_harmless());
    assert_eq!(run("lua", "-e", "os.remove('/etc/passwd')").told(), ["remove /etc/passwd"]);
    assert_eq!(run("lua", "-e", "os.execute('rm -rf ' .. '/')").sourced(), ["rm -rf /"]);
    assert_eq!(run("julia", "-e", "rm(\"/etc\", recursive=true)").told(), ["remove-tree /etc"]);
    assert_eq!(run("julia", "-e", "run(`rm -rf /etc`)").sourced(), ["rm -rf /etc"]);
    assert!(run("julia", "-e", "println(\"rm -rf /\")").is_harmless());
    assert_eq!(run("elixir", "-e", "File.rm_rf!(\"/etc\")").told(), ["remove-tree /etc"]);
    assert_eq!(run("elixir", "-e", "System.cmd(\"rm\", [\"-rf\", \"/etc\"])").ran(), ["rm -rf /etc"]);
    assert!(run("elixir", "-e", "IO.puts \"File.rm_rf!\"").is_harmless());
    assert!(run("lua", "-e", "-- os.remove('/etc')\nprint([[os.remove('/etc')]])").is_harmless());
}

#[test]
fn awk_pipes_and_runs() {
    let awk = |code: &str| run("awk", "", code);
    assert_eq!(awk("BEGIN{system(\"rm -rf /\")}").sourced(), ["rm -rf /"]);
    let piped = awk("BEGIN{print \"rm -rf ~\" | \"sh\"}");
    assert_eq!(piped.sourced(), ["sh"]);
    assert_eq!(piped.texts[0].surroundings.stdin, Some(Input::Text(Abstract::known("rm -rf ~"))));
    assert_eq!(awk("{print $1 > \"out\"}").told(), ["truncate out"]);
    assert_eq!(awk("{system(\"rm -rf \" $1)}").sourced(), ["rm -rf ?"]);
    assert!(awk("{print $1}").is_harmless());
    assert!(awk("/system(\"rm\")/ {print}").is_harmless());
    assert!(awk("$1 > 5 {print $2}").is_harmless());
}

#[test]
fn hostile_code_gets_an_answer() {
    for code in [
        "(".repeat(600),
        "[".repeat(600),
        "{".repeat(600),
        "f(".repeat(600),
        "'".repeat(2_999),
        "x=x+x\n".repeat(500),
        "a.".repeat(600),
    ] {
        for (name, option) in [("python3", "-c"), ("node", "-e"), ("perl", "-e"), ("ruby", "-e")] {
            run(name, option, &code);
        }
    }
    let told = python(&"f()\n".repeat(16_000));
    assert_eq!(told, ["[unparseable-command-limit default] "]);
}
