//! Files that come and go while a program works: temporary ones, and the journals of a database.

use crate::ground::{Ground, Need, can};

#[test]
fn pythons_temporary_files_come_and_go() {
    if !can(&[Need::Program("python3")]) {
        return;
    }
    let ground = Ground::new();
    ground.undisturbed(
        r"python3 - <<'PYTHON'
import os, shutil, tempfile
for place in None, '.', '/dev/shm':
    with tempfile.TemporaryFile(dir=place) as file:
        file.write(b'x'); file.truncate(0)
    with tempfile.NamedTemporaryFile(dir=place) as file:
        file.write(b'x')
    assert not os.path.exists(file.name)
    with tempfile.TemporaryDirectory(dir=place) as name:
        os.makedirs(f'{name}/a/b'); open(f'{name}/a/b/c', 'w').close()
    assert not os.path.exists(name)
    handle, name = tempfile.mkstemp(dir=place); os.close(handle); os.replace(name, f'{name}-2'); os.unlink(f'{name}-2')
    name = tempfile.mkdtemp(dir=place); open(f'{name}/c', 'w').close(); shutil.rmtree(name)
    with tempfile.SpooledTemporaryFile(max_size=1, dir=place) as file:
        file.write(b'more than one')
PYTHON",
    );
}

/// Writes to a database in each journal mode. Each removes, cuts or keeps another file beside the database.
fn writes(database: &str) -> String {
    let modes = ["delete", "truncate", "persist", "wal", "delete"].map(|mode| {
        format!(
            "sqlite3 {database} \"pragma journal_mode = {mode}; begin; insert into t values ('{mode}'); commit;
             begin; insert into t values ('none'); rollback; vacuum;\"; [ ! -e {database}-wal ]"
        )
    });
    let count =
        format!("[ \"$(sqlite3 {database} 'select count(*) from t')\" = 5 ]; [ ! -e {database}-journal ]");
    format!("{}\n{count}", modes.join("\n"))
}

#[test]
fn a_database_of_the_project_keeps_its_journals() {
    if !can(&[Need::Program("sqlite3")]) {
        return;
    }
    let ground = Ground::new();
    ground.before("sqlite3 data.db 'create table t (x)'");
    ground.undisturbed(&writes("data.db"));
}

#[test]
fn a_database_among_the_settings_of_the_home_keeps_its_journals() {
    if !can(&[Need::Program("sqlite3"), Need::KernelRung("removing what the session made outside of scope")])
    {
        return;
    }
    let ground = Ground::new();
    ground.before("mkdir -p ~/.local/share/tool; sqlite3 ~/.local/share/tool/data.db 'create table t (x)'");
    ground.undisturbed(&writes("~/.local/share/tool/data.db"));
}
