//! A man in the middle: speaks PostgreSQL's protocol over TLS under a certificate of its own, and records what clients
//! send.

use super::certificates::{Of, certificate};
use super::scram::Exchange;
use bytes::{BufMut, BytesMut};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

pub const PLUS: &[u8] = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
pub const WITHOUT_PLUS: &[u8] = b"SCRAM-SHA-256\0\0";
const SSL_REQUEST: u32 = 80_877_103;

pub trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// How it answers the request for TLS.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// By TLS.
    Agrees,
    /// By TLS, and without having been asked; `protocol` is what it speaks over it.
    Direct { protocol: Option<&'static [u8]> },
    /// It has none.
    Strips,
    /// It agrees, and says more at once, in plain.
    Injects,
}

/// It listens until the test is over.
pub struct Impostor {
    pub port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
    folder: PathBuf,
}

impl Impostor {
    /// Plays `behave` in each session, once the client's startup message has come.
    pub fn start(
        name: &str,
        handshake: Handshake,
        behave: impl Fn(&mut Session) -> io::Result<()> + Send + 'static,
    ) -> Self {
        let folder = std::env::temp_dir().join(format!("nlt-impostor-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        certificate(&folder, "impostor", &Of::Root, &["127.0.0.1"]);
        let protocols = if let Handshake::Direct { protocol } = handshake { protocol } else { None };
        let config = Arc::new(tls(&folder, protocols));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that hangs up is what is wanted.
                let _ = session(stream, handshake, &config, &notes).and_then(|mut session| {
                    session.hear_startup()?;
                    behave(&mut session)?;
                    session.listen_to_the_end()
                });
            }
        });
        Self { port, heard, folder }
    }

    /// All that the clients said over what they took for the way to the server.
    pub fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn root(&self) -> String {
        self.folder.join("impostor.crt").display().to_string()
    }
}

impl Drop for Impostor {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn tls(folder: &Path, protocol: Option<&[u8]>) -> ServerConfig {
    let certificate = CertificateDer::from_pem_file(folder.join("impostor.crt")).expect("its certificate");
    let key = PrivateKeyDer::from_pem_file(folder.join("impostor.key")).expect("its key");
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key))
        .expect("a configuration");
    config.alpn_protocols = protocol.into_iter().map(<[u8]>::to_vec).collect();
    config
}

fn session(
    mut stream: TcpStream,
    handshake: Handshake,
    config: &Arc<ServerConfig>,
    heard: &Arc<Mutex<Vec<u8>>>,
) -> io::Result<Session> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    if let Handshake::Direct { .. } = handshake {
        return Ok(Session { stream: encrypted(stream, config), heard: Arc::clone(heard) });
    }
    let mut request = [0; 8];
    stream.peek(&mut request)?;
    if request[4..] != SSL_REQUEST.to_be_bytes() {
        return Ok(Session { stream: Box::new(stream), heard: Arc::clone(heard) });
    }
    stream.read_exact(&mut request)?;
    let stream: Box<dyn Stream> = match handshake {
        Handshake::Strips => {
            stream.write_all(b"N")?;
            Box::new(stream)
        }
        Handshake::Injects => {
            stream.write_all(&[b"S", &authentication(0, b"")[..], b"Z\0\0\0\x05I"].concat())?;
            encrypted(stream, config)
        }
        _ => {
            stream.write_all(b"S")?;
            encrypted(stream, config)
        }
    };
    Ok(Session { stream, heard: Arc::clone(heard) })
}

fn encrypted(stream: TcpStream, config: &Arc<ServerConfig>) -> Box<dyn Stream> {
    let session = ServerConnection::new(Arc::clone(config)).expect("a session");
    Box::new(StreamOwned::new(session, stream))
}

/// A request for authentication, or its success.
pub fn authentication(kind: i32, data: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    out.put_u8(b'R');
    out.put_i32(8 + i32::try_from(data.len()).expect("a short message"));
    out.put_i32(kind);
    out.put_slice(data);
    out.to_vec()
}

/// A session with a client that was taken in.
pub struct Session {
    stream: Box<dyn Stream>,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Session {
    pub fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    pub fn authentication(&mut self, kind: i32, data: &[u8]) -> io::Result<()> {
        self.say(&authentication(kind, data))
    }

    /// `AuthenticationOk`, and a session that is ready.
    pub fn let_in(&mut self) -> io::Result<()> {
        self.authentication(0, b"")?;
        self.say(b"S\0\0\0\x18server_version\x0018.1\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I")
    }

    /// The next message of a login (`p`): its body.
    pub fn hear(&mut self) -> io::Result<Vec<u8>> {
        let mut head = [0; 5];
        self.read(&mut head)?;
        let mut body = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4];
        self.read(&mut body)?;
        Ok(body)
    }

    /// Offers mechanisms, and takes the client's first message.
    pub fn begin_scram(&mut self, mechanisms: &[u8]) -> io::Result<Exchange> {
        self.authentication(10, mechanisms)?;
        let body = self.hear()?;
        let name = body.iter().position(|&byte| byte == 0).expect("a mechanism");
        Ok(Exchange::begin(&body[name + 5..]))
    }

    fn hear_startup(&mut self) -> io::Result<()> {
        let mut length = [0; 4];
        self.read(&mut length)?;
        self.read(&mut vec![0; u32::from_be_bytes(length) as usize - 4])
    }

    fn listen_to_the_end(&mut self) -> io::Result<()> {
        loop {
            self.read(&mut [0])?;
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<()> {
        self.stream.read_exact(into)?;
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(into);
        Ok(())
    }
}
