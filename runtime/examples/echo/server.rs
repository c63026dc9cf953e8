//! The server: one future accepts, one for each connection echoes.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_io::Async;
use futures_util::io::{AsyncReadExt, AsyncWriteExt};
use parkade::{Backend, RuntimeOn, Task};

/// A server that serves until it is stopped or dropped.
pub(crate) struct Server {
    address: SocketAddr,
    echoed: Arc<AtomicUsize>,
    accepting: Task<io::Result<()>>,
}

impl Server {
    /// Listens on a free port of loopback.
    pub(crate) fn start<B: Backend>(runtime: &Arc<RuntimeOn<B>>) -> io::Result<Self> {
        let listener = Async::<TcpListener>::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.get_ref().local_addr()?;
        let echoed = Arc::new(AtomicUsize::new(0));
        let (count, spawner) = (Arc::clone(&echoed), Arc::clone(runtime));
        let accepting = runtime.spawn_async(async move {
            loop {
                let (connection, _) = listener.accept().await?;
                let count = Arc::clone(&count);
                // It ends when its client has hung up, or with the runtime.
                spawner.spawn_async(echo(connection, count)).detach();
            }
        });
        Ok(Self {
            address,
            echoed,
            accepting,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no more; returns how many requests were echoed.
    pub(crate) fn stop(self) -> usize {
        parkade::block_on(self.accepting.cancel());
        self.echoed.load(Ordering::Relaxed)
    }
}

/// Sends back what comes: four bytes that tell the length, and as many more.
async fn echo(mut connection: Async<TcpStream>, count: Arc<AtomicUsize>) -> io::Result<()> {
    connection.get_ref().set_nodelay(true)?;
    let mut buffer = Vec::new();
    let mut length = [0; 4];
    while connection.read_exact(&mut length).await.is_ok() {
        buffer.clear();
        buffer.extend_from_slice(&length);
        buffer.resize(4 + u32::from_le_bytes(length) as usize, 0);
        connection.read_exact(&mut buffer[4..]).await?;
        // Before the answer, so that whoever has it finds it counted.
        count.fetch_add(1, Ordering::Relaxed);
        connection.write_all(&buffer).await?;
    }
    Ok(())
}
