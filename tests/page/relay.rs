//! A TCP port in front of a run's socket, which a test can cut.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use parking_lot::Mutex;

/// Connects a browser, which cannot open Unix sockets, to a run.
pub struct Relay {
    address: String,
    connections: Arc<Mutex<Connections>>,
}

#[derive(Default)]
struct Connections {
    is_cut: bool,
    clients: Vec<TcpStream>,
}

impl Relay {
    /// A relay to the server that listens at `socket` when a client connects.
    pub fn start(socket: PathBuf) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address").to_string();
        let connections = Arc::<Mutex<Connections>>::default();
        thread::spawn({
            let connections = Arc::clone(&connections);
            move || {
                for client in listener.incoming().map_while(Result::ok) {
                    let mut connections = connections.lock();
                    if !connections.is_cut && connect(&client, &socket).is_ok() {
                        connections.clients.push(client);
                    }
                }
            }
        });
        Relay { address, connections }
    }

    /// The address of the page.
    pub fn url(&self, fragment: &str) -> String {
        format!("http://{}/{fragment}", self.address)
    }

    /// Closes all connections and refuses new ones until it is mended.
    pub fn cut(&self) {
        let mut connections = self.connections.lock();
        connections.is_cut = true;
        for client in connections.clients.drain(..) {
            _ = client.shutdown(Shutdown::Both); // it may have gone by itself
        }
    }

    pub fn mend(&self) {
        self.connections.lock().is_cut = false;
    }
}

/// Copies data in both directions, with a thread for each.
fn connect(client: &TcpStream, socket: &Path) -> io::Result<()> {
    let server = UnixStream::connect(socket)?;
    let (mut from_client, mut from_server) = (client.try_clone()?, server.try_clone()?);
    let (mut to_client, mut to_server) = (client.try_clone()?, server);
    thread::spawn(move || {
        _ = io::copy(&mut from_client, &mut to_server); // either end may go
        _ = to_server.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        _ = io::copy(&mut from_server, &mut to_client);
        _ = to_client.shutdown(Shutdown::Both);
    });
    Ok(())
}
