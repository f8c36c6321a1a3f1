//! Gets lost connections back without holding up the threads that drive.

use super::Shared;
use super::dial::PARALLEL_LOGINS;
use crate::exit::Failure;
use crate::target::postgres::Connection;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The connection that a seat lost, back again; `None` when nobody needs it any more.
pub(super) type Redialed = (usize, Result<Option<Connection>, Failure>);

/// Where a driving thread asks for connections and gets them. Its file descriptor becomes readable when one is there.
pub(super) struct Redial {
    shared: Arc<Shared>,
    bell: Arc<OwnedFd>,
    give: Sender<Redialed>,
    take: Receiver<Redialed>,
}

/// What the helpers of all threads have to do.
#[derive(Default)]
pub(super) struct Requests {
    state: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    requests: VecDeque<Request>,
    helpers: usize,
}

struct Request {
    group: usize,
    seat: usize,
    give: Sender<Redialed>,
    bell: Arc<OwnedFd>,
}

impl Redial {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self, Errno> {
        let (give, take) = mpsc::channel();
        let bell = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        Ok(Self { shared: Arc::clone(shared), bell, give, take })
    }

    /// Asks for another connection of this group.
    pub(super) fn request(&self, group: usize, seat: usize) {
        let request = Request { group, seat, give: self.give.clone(), bell: Arc::clone(&self.bell) };
        let mut waiting = self.shared.redial.state.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.requests.push_back(request);
        if waiting.helpers < PARALLEL_LOGINS {
            waiting.helpers += 1;
            let shared = Arc::clone(&self.shared);
            thread::spawn(move || help(&shared));
        }
    }

    /// What came since the bell rang.
    pub(super) fn take(&self) -> impl Iterator<Item = Redialed> + '_ {
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.bell, &mut count);
        self.take.try_iter()
    }
}

impl AsFd for Redial {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// Serves requests until there are none.
fn help(shared: &Shared) {
    let next = || {
        let mut waiting = shared.redial.state.lock().unwrap_or_else(PoisonError::into_inner);
        let next = waiting.requests.pop_front();
        waiting.helpers -= usize::from(next.is_none());
        next
    };
    while let Some(Request { group, seat, give, bell }) = next() {
        let outcome = shared.dial.reopen(group, &shared.stop, shared.clock.instant(shared.end_ns));
        // Nobody listens any more when the thread has come to its end.
        let _ = give.send((seat, outcome));
        let _ = rustix::io::write(&bell, &1_u64.to_ne_bytes());
    }
}
