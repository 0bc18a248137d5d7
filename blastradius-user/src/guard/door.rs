//! What do other processes say to a running session, and who may say it?
//!
//! A socket, one JSON line each way. Whoever may see the session may read its last refusal, from inside too. Questions are
//! answered from outside alone: a task of the session is known by the kernel side's table of tasks where there is one,
//! and by its ancestors anyway. They all lead to the guard, which adopts every orphan of the session.
//!
//! The socket has a name and no file (unix(7), "abstract"): nothing to find again, to protect or to leave behind, and it
//! can be reached by the user that the agent was started for, also where our state belongs to root.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bench::lock;
use super::caller;
use super::desk::Desk;
use super::kernel_rung::Grants;

/// In front of the session's name.
const PREFIX: &str = "blastradius/";
/// A visitor who says nothing for so long is not listened to.
const PATIENCE: Duration = Duration::from_secs(5);
/// A request is no longer than this.
const LONGEST: u64 = 4096;

/// What a visitor wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "want", rename_all = "lowercase")]
pub enum Request {
    /// The record of the last refusal. Answered to everyone who may see the session.
    Why,
    /// The open questions.
    List,
    /// The answer yes to one of them.
    Approve {
        /// Its number.
        id: String,
    },
    /// Yes to all questions for a time.
    Pause {
        /// How long; 0 ends a pause.
        seconds: u64,
    },
}

/// What a visitor is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Response {
    /// What was asked for.
    Done(Value),
    /// Why not.
    Refused(String),
}

/// What the door leads to.
#[derive(Debug)]
pub struct House {
    /// The questions.
    pub desk: Arc<Desk>,
    /// The record of the last refusal.
    pub last: Arc<Mutex<Option<Value>>>,
    /// Who else than root and ourselves may come: the user that the agent runs as.
    pub owner: Option<libc::uid_t>,
    /// The kernel side, which knows who is in the session.
    pub grants: Option<Grants>,
}

/// Opens the door of a session, and serves it on a thread of its own.
///
/// # Errors
/// The name is taken, or the kernel gives no socket or thread.
pub fn open(session: &str, house: House) -> io::Result<()> {
    let listener = UnixListener::bind_addr(&address(session)?)?;
    std::thread::Builder::new().name("door".to_owned()).spawn(move || {
        for visitor in listener.incoming().flatten() {
            // A visitor that misbehaves or leaves costs itself alone.
            let _ = house.receive(&visitor);
        }
    })?;
    Ok(())
}

fn address(session: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{PREFIX}{session}"))
}

/// The sessions of this machine (of this network namespace) whose doors are open, by name, oldest first.
///
/// # Errors
/// If the kernel's table of sockets cannot be read.
pub fn sessions() -> io::Result<Vec<String>> {
    let table = std::fs::read_to_string("/proc/net/unix")?;
    let named = |line: &str| {
        // The listening socket has flags 00010000 (SO_ACCEPTCON); connected ones share its name.
        let mut words = line.split_whitespace();
        let listens = words.nth(3) == Some("00010000");
        let name = words.nth(3)?.strip_prefix('@')?.strip_prefix(PREFIX)?;
        listens.then(|| name.to_owned())
    };
    let mut names: Vec<_> = table.lines().filter_map(named).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// Asks a session.
///
/// # Errors
/// It is not there, or does not answer.
pub fn visit(session: &str, request: &Request) -> io::Result<Response> {
    let mut stream = UnixStream::connect_addr(&address(session)?)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(serde_json::from_str(&answer)?)
}

impl House {
    fn receive(&self, visitor: &UnixStream) -> io::Result<()> {
        let peer = Peer::of(visitor)?;
        visitor.set_read_timeout(Some(PATIENCE))?;
        visitor.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new(visitor.take(LONGEST)).read_line(&mut line)?;
        let response = match serde_json::from_str(&line) {
            Ok(request) => self.answer(&peer, request),
            Err(error) => Response::Refused(format!("not a request: {error}")),
        };
        let mut line = serde_json::to_string(&response)?;
        line.push('\n');
        (&mut &*visitor).write_all(line.as_bytes())
    }

    fn answer(&self, peer: &Peer, request: Request) -> Response {
        let own = nix::unistd::Uid::effective().as_raw();
        if ![0, own].contains(&peer.uid) && self.owner != Some(peer.uid) {
            return Response::Refused("this session belongs to another user".to_owned());
        }
        if request == Request::Why {
            return Response::Done(lock(&self.last).clone().unwrap_or_default());
        }
        if self.is_inside(peer) {
            return Response::Refused(
                "this is inside the session: a person answers from a terminal outside it".to_owned(),
            );
        }
        match request {
            Request::Why | Request::List => Response::Done(self.desk.list()),
            Request::Approve { id } if self.desk.approve(&id) => Response::Done(Value::Bool(true)),
            Request::Approve { id } => Response::Refused(format!("there is no open question {id}")),
            Request::Pause { seconds } => {
                self.desk.pause(Duration::from_secs(seconds));
                Response::Done(Value::Bool(true))
            }
        }
    }

    /// Whether the visitor is a task of the session, or cannot be told from one.
    fn is_inside(&self, peer: &Peer) -> bool {
        if let Some(grants) = &self.grants
            && !matches!(grants.member(peer.pid, peer.pid), Ok(None))
        {
            return true;
        }
        peer.descends_from(std::process::id() as libc::pid_t)
    }
}

/// Who connected.
struct Peer {
    pid: libc::pid_t,
    uid: libc::uid_t,
    /// Keeps the pid from meaning another process (6.5); without it only a pid that wraps around at once could.
    _held: Option<OwnedFd>,
}

impl Peer {
    fn of(stream: &UnixStream) -> io::Result<Self> {
        use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
        let credentials = getsockopt(stream, PeerCredentials).map_err(io::Error::from)?;
        Ok(Self { pid: credentials.pid(), uid: credentials.uid(), _held: pidfd(stream) })
    }

    /// Whether its ancestors lead to `guard`. A process that cannot be followed to the top is taken for one of ours.
    fn descends_from(&self, guard: libc::pid_t) -> bool {
        const DEEPEST: usize = 4096;
        let mut pid = self.pid;
        // 0: it is in a pid namespace that we cannot see into, or has gone.
        for _ in 0..DEEPEST {
            if pid == guard || pid <= 0 {
                return true;
            }
            match caller::parent_of(pid) {
                // The top of our pid namespace: its parent is outside, or nobody.
                Some(0) => return false,
                Some(parent) => pid = parent,
                None => return true,
            }
        }
        true
    }
}

/// SO_PEERPIDFD.
fn pidfd(stream: &UnixStream) -> Option<OwnedFd> {
    const SO_PEERPIDFD: libc::c_int = 77;
    let mut fd: libc::c_int = -1;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes one int at most.
    let status = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut fd).cast(),
            &raw mut length,
        )
    };
    // SAFETY: the kernel has just made this descriptor for us.
    (status == 0 && fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(test: &str) -> String {
        format!("test-{}-{test}", std::process::id())
    }

    fn house() -> House {
        House { desk: Arc::new(Desk::new(None)), last: Arc::default(), owner: None, grants: None }
    }

    #[test]
    fn a_descendant_may_read_and_may_not_answer() {
        let name = name("inside");
        let house = house();
        *lock(&house.last) = Some(Value::from("the last refusal"));
        open(&name, house).expect("a free name");
        assert!(sessions().expect("readable").contains(&name));
        // This very process is the guard, and so is inside.
        assert_eq!(
            visit(&name, &Request::Why).expect("answered"),
            Response::Done(Value::from("the last refusal"))
        );
        for request in [Request::List, Request::Approve { id: "0".into() }, Request::Pause { seconds: 60 }] {
            let response = visit(&name, &request).expect("answered");
            assert!(matches!(response, Response::Refused(why) if why.contains("inside")), "{request:?}");
        }
    }

    #[test]
    fn an_outsider_is_told_from_an_insider() {
        let guard = std::process::id() as libc::pid_t;
        let peer = |pid| Peer { pid, uid: 0, _held: None };
        assert!(peer(guard).descends_from(guard));
        assert!(!peer(nix::unistd::getppid().as_raw()).descends_from(guard));
        assert!(peer(0).descends_from(guard), "a pid that we cannot see");
        assert!(peer(i32::MAX).descends_from(guard), "a process that has gone");
    }

    #[test]
    fn nonsense_is_answered_and_harms_nobody() {
        let name = name("nonsense");
        open(&name, house()).expect("a free name");
        for bytes in [&b"\n"[..], b"{}\n", b"\xff\xfe\n", &[b'x'; 10_000]] {
            let mut stream = UnixStream::connect_addr(&address(&name).expect("a name")).expect("open");
            let _ = stream.write_all(bytes);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
        }
        assert!(visit(&name, &Request::Why).is_ok());
    }
}
