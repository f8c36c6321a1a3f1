use super::super::dsn::{ChannelBinding, Negotiation};
use super::*;
use rustls::{ServerConfig, ServerConnection};
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

/// A server certificate that is its own root: the first that PostgreSQL's manual makes.
fn self_signed(folder: &Path) -> (ServerConfig, PathBuf) {
    certificates::certificate(folder, "server", &certificates::Of::Root, &["127.0.0.1"]);
    let file = folder.join("server.crt");
    let certificate = CertificateDer::from_pem_file(&file).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    (config, file)
}

/// Reads `length` bytes, slowly, and sends them back.
fn echo(config: ServerConfig, listener: TcpListener, length: usize) -> JoinHandle<()> {
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut session = ServerConnection::new(Arc::new(config)).unwrap();
        let mut tls = rustls::Stream::new(&mut session, &mut stream);
        let mut bytes = vec![0; length];
        tls.read_exact(&mut bytes[..1000]).unwrap();
        thread::sleep(std::time::Duration::from_millis(100)); // the sender's buffers fill up
        tls.read_exact(&mut bytes[1000..]).unwrap();
        tls.write_all(&bytes).unwrap();
        tls.flush().unwrap();
    })
}

fn client(mode: SslMode, roots: &Path) -> TlsClient {
    TlsClient::new(TlsSettings {
        mode,
        negotiation: Negotiation::Postgres,
        roots: RootCertificates::File(roots.to_owned()),
        client: None,
        default_client: None,
        channel_binding: ChannelBinding::Prefer,
    })
}

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("nlt-tls-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_stream_that_does_not_block_loses_nothing() {
    const LENGTH: usize = 20_000_000; // more than all buffers between the two
    let folder = Folder::new("nonblocking");
    let (config, roots) = self_signed(&folder.0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = echo(config, listener, LENGTH);
    let client = client(SslMode::VerifyFull, &roots);
    let mut stream = client.start("127.0.0.1", TcpStream::connect(address).unwrap(), None).unwrap();
    assert!(stream.server_end_point().is_some());
    stream.socket().set_nonblocking(true).unwrap();

    let sent: Vec<u8> = (0..LENGTH).map(|at| (at * 7 % 251) as u8).collect();
    let (mut written, mut waits) = (0, 0);
    while written < LENGTH || stream.flush().is_err() {
        match stream.write(&sent[written..]) {
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                waits += 1;
                thread::sleep(std::time::Duration::from_millis(1));
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(waits > 0, "the test never filled the socket");
    let (mut received, mut buffer) = (Vec::new(), vec![0; 100_000]);
    while received.len() < LENGTH {
        match stream.read(&mut buffer) {
            Ok(count) => received.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(received == sent, "what came back is not what was sent");
    server.join().unwrap();
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = Folder::new("files");
    let empty = folder.0.join("empty.crt");
    std::fs::write(&empty, "").unwrap();
    for (file, expected) in [(empty.as_path(), "holds no certificate"), (&folder.0.join("none.crt"), "none.crt")] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let error = client(SslMode::VerifyCa, file).start("127.0.0.1", stream, None).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
