//! The files of /etc, and getent(1) for what they do not have.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::super::ask::{Answer, ask};
use super::{User, UsersError, Whom};

const PASSWD: &str = "/etc/passwd";
const GROUP: &str = "/etc/group";
const GETENT: &str = "getent";

/// getent(1): "One or more supplied key could not be found in the database."
const NOT_FOUND: i32 = 2;
/// getent(1): "Missing arguments, or database unknown."
const UNKNOWN_DATABASE: i32 = 1;

/// How long a person waits for a directory service.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a verdict waits for one: a hook answers within four seconds.
const DEADLINE: Duration = Duration::from_secs(1);
/// How often it does, at most. A text may name any number of users.
const MOST: u32 = 3;

impl User {
    /// Reads a line. What has not the form is nobody.
    fn of_line(line: &[u8]) -> Option<Self> {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        let [name, _, uid, gid, _, home, shell] = fields.as_slice() else { return None };
        let text = |field: &[u8]| std::str::from_utf8(field).ok().map(str::to_owned);
        let path = |field: &[u8]| PathBuf::from(OsString::from_vec(field.to_vec()));
        Some(Self {
            name: text(name)?,
            uid: text(uid)?.parse().ok()?,
            gid: text(gid)?.parse().ok()?,
            home: path(home),
            shell: path(shell),
        })
    }

    fn is(&self, whom: Whom<'_>) -> bool {
        match whom {
            Whom::Name(name) => self.name == name,
            Whom::Uid(uid) => self.uid == uid,
        }
    }
}

/// Everybody in a passwd(5) text.
fn users(passwd: &[u8]) -> impl Iterator<Item = User> {
    passwd.split(|byte| *byte == b'\n').filter_map(User::of_line)
}

/// What /etc/passwd says, read once.
pub(crate) struct Database {
    passwd: Vec<u8>,
    may_ask: Cell<u32>,
}

impl Database {
    pub(crate) fn read() -> Self {
        Self { passwd: fs::read(PASSWD).unwrap_or_default(), may_ask: Cell::new(MOST) }
    }

    /// Everybody in the file.
    pub(crate) fn users(&self) -> impl Iterator<Item = User> {
        users(&self.passwd)
    }

    /// The user, `None` also if nobody can tell in the time that a verdict has.
    pub(crate) fn find(&self, whom: Whom<'_>) -> Option<User> {
        let found = self.users().find(|user| user.is(whom));
        found.or_else(|| {
            self.may_ask.set(self.may_ask.get().checked_sub(1)?);
            elsewhere(GETENT.as_ref(), whom, DEADLINE).ok()?
        })
    }
}

/// The user, `None` if there is none.
///
/// # Errors
/// If that cannot be told.
pub(crate) fn find(whom: Whom<'_>) -> Result<Option<User>, UsersError> {
    match users(&read(PASSWD)?).find(|user| user.is(whom)) {
        Some(user) => Ok(Some(user)),
        None => elsewhere(GETENT.as_ref(), whom, PATIENCE),
    }
}

/// The groups of a user, that of the passwd entry among them.
///
/// # Errors
/// If they cannot be told.
pub(crate) fn groups_of(user: &User) -> Result<Vec<u32>, UsersError> {
    groups(GETENT.as_ref(), user, &read(GROUP)?)
}

/// A machine without this file has an empty one; one that cannot be read hides people.
fn read(path: &'static str) -> Result<Vec<u8>, UsersError> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|error| UsersError::File(path, error)),
    }
}

/// Asks the services of the machine.
fn elsewhere(getent: &OsStr, whom: Whom<'_>, patience: Duration) -> Result<Option<User>, UsersError> {
    let key = match whom {
        Whom::Uid(uid) => uid.to_string(),
        // getent would take these for options and for uids; nobody is called so.
        Whom::Name(name) if name.starts_with('-') || name.bytes().all(|byte| byte.is_ascii_digit()) => {
            return Ok(None);
        }
        Whom::Name(name) => name.to_owned(),
    };
    let asked = ask(Command::new(getent).args(["passwd", &key]), patience);
    let Answer { ended, output } = match asked {
        Ok(answer) => answer,
        Err(why) => return Err(UsersError::NotAsked(key, why)),
    };
    match (ended.code(), users(&output).next()) {
        (Some(NOT_FOUND), _) => Ok(None),
        // A service may know a name in another spelling than was asked for, but a number is a number.
        (Some(0), Some(user)) if matches!(whom, Whom::Name(_)) || user.is(whom) => Ok(Some(user)),
        _ => Err(UsersError::NoAnswer(key, ended)),
    }
}

/// A user of the file may be in groups of another service, so getent is asked first. Where there is none, or one that
/// knows nothing but files, there is no other service.
fn groups(getent: &OsStr, user: &User, group: &[u8]) -> Result<Vec<u32>, UsersError> {
    let asked = ask(Command::new(getent).args(["initgroups", &user.name]), PATIENCE);
    let key = || format!("the groups of {}", user.name);
    let mut groups = match asked {
        Ok(Answer { ended, output }) => match ended.code() {
            Some(0) => numbers(&output).ok_or_else(|| UsersError::NoAnswer(key(), ended))?,
            Some(UNKNOWN_DATABASE) => members(group, &user.name),
            _ => return Err(UsersError::NoAnswer(key(), ended)),
        },
        Err(why) if why.kind() == io::ErrorKind::NotFound => members(group, &user.name),
        Err(why) => return Err(UsersError::NotAsked(key(), why)),
    };
    groups.push(user.gid);
    groups.sort_unstable();
    groups.dedup();
    Ok(groups)
}

/// What stands behind the name in what `getent initgroups NAME` prints.
fn numbers(output: &[u8]) -> Option<Vec<u32>> {
    let text = std::str::from_utf8(output).ok()?;
    text.split_whitespace().skip(1).map(|word| word.parse().ok()).collect()
}

/// The groups in a group(5) text that list somebody.
fn members(group: &[u8], name: &str) -> Vec<u32> {
    let of_line = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, gid, members] = fields.as_slice() else { return None };
        let listed = members.split(',').any(|member| member == name);
        listed.then(|| gid.parse().ok()).flatten()
    };
    group.split(|byte| *byte == b'\n').filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn an_account_of_the_file_is_found_by_name_and_by_number_and_the_first_line_counts() {
        let passwd =
            b"root:x:0:0:root:/root:/bin/bash\nshort:x\n+::::::\nada:x:1000:100:Ad\xe8le:/home/ada:/bin/sh\n\
                       toor:x:0:0::/elsewhere:/bin/sh\n";
        let find = |whom| users(passwd).find(|user| user.is(whom));
        let ada = find(Whom::Name("ada")).expect("a comment in Latin-1 hides nobody");
        assert_eq!((ada.uid, ada.gid), (1000, 100));
        assert_eq!((ada.home, ada.shell), ("/home/ada".into(), "/bin/sh".into()));
        assert_eq!(find(Whom::Uid(0)).map(|user| user.home), Some("/root".into()));
        assert_eq!(find(Whom::Name("short")), None);
        assert_eq!(find(Whom::Name("+")), None);
        assert_eq!(find(Whom::Uid(7)), None);
    }

    /// A machine with a service that knows one more user, and one that does not answer.
    const SERVICES: &str = "#!/bin/sh
        case $1:$2 in
        passwd:grace | passwd:Grace | passwd:5000) echo 'grace:*:5000:5001:Grace:/net/grace:/bin/zsh' ;;
        passwd:6000) echo 'grace:*:5000:5001:Grace:/net/grace:/bin/zsh' ;;
        passwd:broken | initgroups:broken) echo 'no such form' ;;
        passwd:down | initgroups:down) exit 3 ;;
        initgroups:grace) echo 'grace   7 5001 8' ;;
        initgroups:files-alone) exit 1 ;;
        *) exit 2 ;;
        esac\n";

    struct Machine {
        _dir: tempfile::TempDir,
        getent: PathBuf,
    }

    fn machine() -> Machine {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let getent = dir.path().join("getent");
        fs::write(&getent, SERVICES).expect("written");
        fs::set_permissions(&getent, fs::Permissions::from_mode(0o755)).expect("made executable");
        Machine { _dir: dir, getent }
    }

    impl Machine {
        fn find(&self, whom: Whom<'_>) -> Result<Option<User>, UsersError> {
            elsewhere(self.getent.as_os_str(), whom, PATIENCE)
        }

        fn groups(&self, name: &str, group: &str) -> Result<Vec<u32>, UsersError> {
            let user =
                User { name: name.into(), uid: 1, gid: 5001, home: "/".into(), shell: "/bin/sh".into() };
            groups(self.getent.as_os_str(), &user, group.as_bytes())
        }
    }

    #[test]
    fn whom_the_files_do_not_have_the_services_of_the_machine_are_asked_for() {
        let machine = machine();
        let grace = machine.find(Whom::Name("grace")).expect("answered").expect("known");
        assert_eq!((&*grace.name, grace.uid, grace.gid), ("grace", 5000, 5001));
        assert_eq!((&grace.home, &grace.shell), (&"/net/grace".into(), &"/bin/zsh".into()));
        for whom in [Whom::Uid(5000), Whom::Name("Grace")] {
            assert_eq!(machine.find(whom).expect("answered").as_ref(), Some(&grace), "{whom:?}");
        }
        for whom in [Whom::Name("nobody-else"), Whom::Uid(7), Whom::Name("--help"), Whom::Name("5000")] {
            assert_eq!(machine.find(whom).expect("answered"), None, "{whom:?}");
        }
    }

    #[test]
    fn a_service_that_does_not_answer_is_an_error_and_not_a_no() {
        let machine = machine();
        for whom in [Whom::Name("down"), Whom::Name("broken"), Whom::Uid(6000)] {
            let said = machine.find(whom);
            assert!(matches!(said, Err(UsersError::NoAnswer(..))), "{whom:?}: {said:?}");
        }
        let said = elsewhere("/nonexistent/getent".as_ref(), Whom::Name("grace"), PATIENCE);
        let error = said.expect_err("nobody could be asked").to_string();
        assert!(error.starts_with("asking getent for grace, whom /etc/passwd does not have: "), "{error}");
    }

    #[test]
    fn the_groups_are_those_of_the_services_and_of_the_file_where_there_are_none() {
        const GROUP: &str = "a:x:20:ada,grace\nb:x:21:ada\nshort\nc:x:22:files-alone,grace\nd:x:23:\n";
        let machine = machine();
        assert_eq!(machine.groups("grace", GROUP).expect("answered"), [7, 8, 5001]);
        assert_eq!(machine.groups("files-alone", GROUP).expect("answered"), [22, 5001]);
        for name in ["down", "broken"] {
            assert!(matches!(machine.groups(name, GROUP), Err(UsersError::NoAnswer(..))), "{name}");
        }
        let absent = Machine { getent: "/nonexistent/getent".into(), ..machine };
        assert_eq!(absent.groups("grace", GROUP).expect("read"), [20, 22, 5001]);
    }

    /// What a program prints.
    fn printed(program: &str, args: &[&str]) -> String {
        let output = Command::new(program).args(args).output().expect("started");
        assert!(output.status.success(), "{program} {args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    #[test]
    fn each_user_of_this_machine_is_the_one_that_getent_and_id_know() {
        let listed = printed("getent", &["passwd"]);
        let everybody: Vec<User> = users(listed.as_bytes()).collect();
        assert!(everybody.iter().any(|user| user.uid == 0), "{listed}");
        for user in everybody {
            assert_eq!(find(Whom::Name(&user.name)).expect("told").as_ref(), Some(&user));
            let of_uid = users(printed("getent", &["passwd", &user.uid.to_string()]).as_bytes()).next();
            assert_eq!(find(Whom::Uid(user.uid)).expect("told"), of_uid);
            let ids = printed("id", &["-G", &user.name]);
            let mut ids: Vec<u32> = ids.split_whitespace().map(|id| id.parse().expect("a number")).collect();
            ids.sort_unstable();
            assert_eq!(groups_of(&user).expect("told"), ids, "{}", user.name);
            let of_file = groups("/nonexistent/getent".as_ref(), &user, &read(super::GROUP).expect("read"));
            assert_eq!(of_file.expect("told"), ids, "{}: from the file alone", user.name);
        }
    }

    #[test]
    fn a_verdict_asks_a_few_times_and_then_no_more() {
        let database =
            Database { passwd: b"ada:x:1000:1000::/home/ada:/bin/sh\n".to_vec(), may_ask: Cell::new(1) };
        assert_eq!(database.find(Whom::Name("no such user")), None);
        assert_eq!(database.may_ask.get(), 0);
        assert_eq!(
            database.find(Whom::Uid(0)),
            None,
            "root is not in this file, and nobody is asked any more"
        );
        assert!(database.find(Whom::Name("ada")).is_some());
    }
}
