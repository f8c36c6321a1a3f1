//! Reconnects lost connections without blocking the threads of the load.

use super::dial::{Dial, Dialer, PARALLEL_LOGINS};
use super::shared::Shared;
use crate::exit::Failure;
use crate::target::Session;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The connection that a channel lost, back again; `None` when nobody needs it any more.
pub(super) type Redialed<S> = (usize, Result<Option<S>, Failure>);

/// What all threads ask for connections.
pub(super) struct Exchange<D: Dialer> {
    pub(super) shared: Arc<Shared>,
    pub(super) dial: Dial<D>,
    state: Mutex<Waiting<D::Session>>,
}

/// What its helpers have to do.
struct Waiting<S> {
    requests: VecDeque<Request<S>>,
    helpers: usize,
}

struct Request<S> {
    group: usize,
    channel: usize,
    give: Sender<Redialed<S>>,
    wake: Arc<OwnedFd>,
}

impl<D: Dialer> Exchange<D> {
    pub(super) fn new(shared: &Arc<Shared>, dial: Dial<D>) -> Self {
        let waiting = Waiting { requests: VecDeque::new(), helpers: 0 };
        Self { shared: Arc::clone(shared), dial, state: Mutex::new(waiting) }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<D::Session>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves requests until there are none.
    fn help(&self) {
        let next = || {
            let mut waiting = self.waiting();
            let next = waiting.requests.pop_front();
            waiting.helpers -= usize::from(next.is_none());
            next
        };
        while let Some(Request { group, channel, give, wake }) = next() {
            let shared = &self.shared;
            let outcome = self.dial.reopen(group, &shared.stop, shared.clock.instant(shared.end_ns));
            // Nobody listens any more when the thread has come to its end.
            let _ = give.send((channel, outcome));
            let _ = rustix::io::write(&wake, &1_u64.to_ne_bytes());
        }
    }
}

/// Where a driving thread asks for connections and gets them. Its file descriptor becomes readable when one is there.
pub(super) struct Redial<S> {
    wake: Arc<OwnedFd>,
    give: Sender<Redialed<S>>,
    take: Receiver<Redialed<S>>,
}

impl<S: Session> Redial<S> {
    pub(super) fn new() -> Result<Self, Errno> {
        let (give, take) = mpsc::channel();
        let wake = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        Ok(Self { wake, give, take })
    }

    /// Asks for another connection of this group.
    pub(super) fn request<D: Dialer<Session = S>>(&self, exchange: &Arc<Exchange<D>>, group: usize, channel: usize) {
        let request = Request { group, channel, give: self.give.clone(), wake: Arc::clone(&self.wake) };
        let mut waiting = exchange.waiting();
        waiting.requests.push_back(request);
        if waiting.helpers < PARALLEL_LOGINS {
            waiting.helpers += 1;
            let exchange = Arc::clone(exchange);
            thread::spawn(move || exchange.help());
        }
    }

    /// What came since the wake rang.
    pub(super) fn take(&self) -> impl Iterator<Item = Redialed<S>> + '_ {
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.wake, &mut count);
        self.take.try_iter()
    }
}

impl<S> AsFd for Redial<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
