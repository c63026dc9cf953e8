//! The load: a future for each connection asks, waits for the answer, checks it, and asks again.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use async_io::Async;
use futures_util::io::{AsyncReadExt, AsyncWriteExt};

/// What each client is to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) server: SocketAddr,
    pub(crate) requests: u32,
    pub(crate) bytes: usize,
}

/// Makes all requests of one client; returns how long each answer took.
///
/// # Errors
///
/// What the sockets say, or [`io::ErrorKind::InvalidData`] for another answer than was asked for.
pub(crate) async fn ask(load: Load, client: u32) -> io::Result<Vec<Duration>> {
    let mut connection = Async::<TcpStream>::connect(load.server).await?;
    connection.get_ref().set_nodelay(true)?;
    let length = u32::try_from(load.bytes).map_err(io::Error::other)?;
    let mut latencies = Vec::new();
    for request in 0..load.requests {
        let mut asked = length.to_le_bytes().to_vec();
        let seed = client.wrapping_mul(31).wrapping_add(request) as usize;
        asked.extend((0..load.bytes).map(|at| (at + seed) as u8));
        let mut answer = vec![0; asked.len()];
        let begun = Instant::now();
        connection.write_all(&asked).await?;
        connection.read_exact(&mut answer).await?;
        latencies.push(begun.elapsed());
        if answer != asked {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok(latencies)
}
