//! What do front and guard say to each other?
//!
//! One message a datagram over a SOCK_SEQPACKET pair: a tag and a number. The end of the other side is the end of file.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};

/// A message, in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Guard: the agent runs, under this pid.
    Started(i32),
    /// Guard: the agent has been stopped by this signal.
    Stopped(i32),
    /// Guard: the agent has ended; the wait status of waitpid(2).
    Ended(i32),
    /// Guard: the session did not start, or must end; our exit status.
    Failed(i32),
    /// Front: pass this signal on to the agent.
    Signal(i32),
}

impl Message {
    const WIRE: usize = 8;

    fn to_wire(self) -> [u8; Self::WIRE] {
        let (tag, value) = match self {
            Self::Started(pid) => (1u32, pid),
            Self::Stopped(signal) => (2, signal),
            Self::Ended(status) => (3, status),
            Self::Failed(code) => (4, code),
            Self::Signal(signal) => (5, signal),
        };
        let mut wire = [0; Self::WIRE];
        wire[..4].copy_from_slice(&tag.to_ne_bytes());
        wire[4..].copy_from_slice(&value.to_ne_bytes());
        wire
    }

    fn from_wire(wire: [u8; Self::WIRE]) -> Option<Self> {
        let [a, b, c, d, e, f, g, h] = wire;
        let value = i32::from_ne_bytes([e, f, g, h]);
        match u32::from_ne_bytes([a, b, c, d]) {
            1 => Some(Self::Started(value)),
            2 => Some(Self::Stopped(value)),
            3 => Some(Self::Ended(value)),
            4 => Some(Self::Failed(value)),
            5 => Some(Self::Signal(value)),
            _ => None,
        }
    }
}

/// What reading the link gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A message.
    Message(Message),
    /// Nothing for now.
    Nothing,
    /// The other side is gone.
    Gone,
}

/// One end of the pair. Non-blocking, closed on exec.
#[derive(Debug)]
pub struct Link(OwnedFd);

impl Link {
    /// Makes a pair.
    ///
    /// # Errors
    /// socketpair(2): out of descriptors or memory.
    pub fn pair() -> Result<(Self, Self), Errno> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let (one, other) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
        Ok((Self(one), Self(other)))
    }

    /// Says it. A peer that is gone, or a full queue of messages that nobody reads, is not an error here: the end of
    /// the other side shows in [`Link::hear`].
    pub fn say(&self, message: Message) {
        let _ = send(self.0.as_raw_fd(), &message.to_wire(), MsgFlags::MSG_NOSIGNAL);
    }

    /// Takes the next message.
    pub fn hear(&self) -> Heard {
        let mut wire = [0; Message::WIRE];
        let mut receive = || recv(self.0.as_raw_fd(), &mut wire, MsgFlags::empty());
        // Told once where the other side left messages of ours unread (net/unix/af_unix.c, unix_release_sock), and before
        // what it said last.
        let received = match receive() {
            Err(Errno::ECONNRESET) => receive(),
            received => received,
        };
        match received {
            Ok(Message::WIRE) => Message::from_wire(wire).map_or(Heard::Gone, Heard::Message),
            Err(Errno::EAGAIN | Errno::EINTR) => Heard::Nothing,
            Ok(_) | Err(_) => Heard::Gone,
        }
    }
}

impl AsRawFd for Link {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_last_is_heard_although_the_other_side_left_without_listening() {
        let (front, guard) = Link::pair().expect("a socket pair");
        front.say(Message::Signal(2));
        guard.say(Message::Started(7));
        guard.say(Message::Ended(0x2a00));
        drop(guard);
        assert_eq!(front.hear(), Heard::Message(Message::Started(7)));
        assert_eq!(front.hear(), Heard::Message(Message::Ended(0x2a00)));
        assert_eq!(front.hear(), Heard::Gone);
    }

    #[test]
    fn messages_arrive_in_order_and_the_end_is_seen() {
        let (front, guard) = Link::pair().expect("a socket pair");
        let said = [
            Message::Started(7),
            Message::Stopped(20),
            Message::Ended(0x100),
            Message::Failed(125),
            Message::Signal(15),
        ];
        for message in said {
            guard.say(message);
        }
        for message in said {
            assert_eq!(front.hear(), Heard::Message(message));
        }
        assert_eq!(front.hear(), Heard::Nothing);
        drop(guard);
        assert_eq!(front.hear(), Heard::Gone);
    }
}
