//! Sessions for set-up and checks. They wait without a timeout, because an index or a check of a large data set takes
//! long. When the program is asked to stop, it cancels their statements.

use crate::exit::{ExitCode, Failure, cannot_connect};
use crate::stop::Stop;
use crate::target::{AdminSession, Cancel, TargetError, postgres};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Between two attempts to reach a server.
const PAUSE: Duration = Duration::from_millis(200);

/// Opens such sessions and remembers how to cancel what they do.
#[derive(Debug)]
pub struct Admin<C: AdminSession = postgres::Connection> {
    dsn: C::Dsn,
    cancellers: Mutex<Vec<C::Canceller>>,
}

impl<C: AdminSession> Admin<C> {
    /// For the server at `dsn`.
    #[must_use]
    pub fn new(dsn: C::Dsn) -> Self {
        Self { dsn, cancellers: Mutex::new(Vec::new()) }
    }

    /// Where the sessions go.
    #[must_use]
    pub fn dsn(&self) -> &C::Dsn {
        &self.dsn
    }

    /// Opens a session.
    ///
    /// # Errors
    /// [`crate::exit::ExitCode::CannotConnect`] when the server cannot be reached or refuses the login.
    pub fn connect(&self) -> Result<C, Failure> {
        self.open().map_err(|error| cannot_connect::<C>(&self.dsn, &error))
    }

    /// The same, for who words failures for itself.
    ///
    /// # Errors
    /// As [`AdminSession::open`].
    pub fn open(&self) -> Result<C, TargetError> {
        self.open_at(&self.dsn)
    }

    /// The same at a part of the DSN.
    ///
    /// # Errors
    /// As [`AdminSession::open`].
    pub fn open_at(&self, dsn: &C::Dsn) -> Result<C, TargetError> {
        let connection = C::open(dsn, None)?;
        self.cancellers.lock().unwrap_or_else(PoisonError::into_inner).extend(connection.canceller());
        Ok(connection)
    }

    /// Opens a session, trying for a while: the server may be on its way back.
    ///
    /// # Errors
    /// [`ExitCode::TargetLost`] when it is not back by then, or on an interruption.
    pub fn connect_again(&self, patience: Duration, stop: &Stop) -> Result<C, Failure> {
        let deadline = Instant::now() + patience;
        loop {
            match self.connect() {
                Ok(connection) => return Ok(connection),
                Err(failure) if stop.interrupted() || Instant::now() >= deadline => {
                    let seconds = patience.as_secs_f64();
                    let message = format!("the data could not be checked within {seconds} s: {}", failure.message);
                    return Err(Failure::new(ExitCode::TargetLost, message));
                }
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    /// Does `count` things on up to `connections` sessions, each of which says `settings` first; stops at the first
    /// failure.
    ///
    /// # Errors
    /// That failure, or why a stop was requested.
    ///
    /// # Panics
    /// When `work` does.
    pub fn in_parallel(
        &self,
        connections: u32,
        count: usize,
        stop: &Stop,
        settings: &[String],
        work: impl Fn(&mut C, usize) -> Result<(), Failure> + Sync,
    ) -> Result<(), Failure> {
        let next = AtomicUsize::new(0);
        let work_some = || -> Result<(), Failure> {
            let mut connection = self.connect()?;
            for setting in settings {
                connection.query(setting).map_err(|error| Failure::target(setting, &error))?;
            }
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return Ok(());
                }
                stop.reason().map_or(Ok(()), Err)?;
                work(&mut connection, index).inspect_err(|_| next.store(count, Ordering::Relaxed))?;
            }
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..count.min(connections as usize)).map(|_| scope.spawn(work_some)).collect();
            let outcomes = threads.into_iter().map(|thread| thread.join().expect("no worker panics"));
            outcomes.fold(Ok(()), Result::and)
        })
    }

    /// Asks the server to cancel whatever these sessions are doing. It may ignore it: this is only a request, and a
    /// session that is gone is nobody's any more. Each request is a connection of its own, which a server that is not
    /// well may take long to accept: nobody waits for them.
    pub fn cancel_all(&self) {
        for canceller in self.cancellers.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // Without a thread for it, the request is not made: the session ends with this process all the same.
            let _ = thread::Builder::new().spawn(move || canceller.cancel());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::postgres::{Canceller, Dsn};
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
    use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};

    #[test]
    fn cancelling_waits_for_nobody() {
        // A server whose queue of connections is full: connecting to it takes as long as the timeout allows.
        let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        listen(&listener, 0).unwrap();
        let address = SocketAddrV4::try_from(getsockname(&listener).unwrap()).unwrap();
        let connect = || TcpStream::connect_timeout(&address.into(), Duration::from_millis(200));
        let queue: Vec<_> = std::iter::from_fn(|| connect().ok()).take(10).collect();
        let dsn = Dsn::parse(&format!("postgresql://u@{address}/d?connect_timeout=120"), |_| None).unwrap();
        let admin = Admin::<postgres::Connection>::new(dsn.clone());
        admin.cancellers.lock().unwrap().extend((0..3).map(|id| Canceller::of_nobody(&dsn, id)));
        let began = Instant::now();
        admin.cancel_all();
        assert!(began.elapsed() < Duration::from_secs(60), "{:?} with {} in the queue", began.elapsed(), queue.len());
    }
}
