//! A wire between two programs that a test can cut.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use parking_lot::Mutex;

/// Forwards data until it is cut. Dropping it closes every connection.
pub struct Forwarder {
    address: SocketAddr,
    shared: Arc<ForwarderShared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct ForwarderShared {
    open: Mutex<Vec<TcpStream>>,
    closing: AtomicBool,
}

impl Forwarder {
    /// Forwards connections to `port` of this machine.
    pub fn to(port: u16) -> Forwarder {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(ForwarderShared::default());
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.accept(&listener, port)
        });
        Forwarder {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Cuts all open connections, and returns their number. New ones are forwarded again.
    pub fn cut(&self) -> usize {
        let mut open = self.shared.open.lock();
        let cut = open.drain(..).map(|stream| stream.shutdown(Shutdown::Both));
        cut.filter(Result::is_ok).count()
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        _ = TcpStream::connect(self.address); // wakes the acceptor
        self.cut();
        if let Some(acceptor) = self.acceptor.take() {
            _ = acceptor.join(); // a panic there has been printed
        }
    }
}

impl ForwarderShared {
    fn accept(&self, listener: &TcpListener, port: u16) {
        for client in listener.incoming().flatten() {
            if self.closing.load(Ordering::SeqCst) {
                return;
            }
            let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
                continue;
            };
            let clone = |stream: &TcpStream| stream.try_clone().expect("a clone");
            let mut open = self.open.lock();
            open.extend([clone(&client), clone(&server)]);
            let (back, forth) = ((clone(&server), clone(&client)), (client, server));
            for (from, to) in [forth, back] {
                // The threads end with their connection.
                thread::spawn(move || pass(from, to));
            }
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    let mut passed = || -> io::Result<bool> {
        let count = from.read(&mut buffer)?;
        to.write_all(&buffer[..count])?;
        Ok(count > 0)
    };
    while passed().unwrap_or(false) {}
    _ = from.shutdown(Shutdown::Both); // it may be gone
    _ = to.shutdown(Shutdown::Both);
}
