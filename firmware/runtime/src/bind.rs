use std::io;
use std::net::{Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// Which of a host's addresses a listener takes: the first IPv4 one, else the first. `localhost`
/// is 127.0.0.1 whatever the system names first.
///
/// spec: nats-server v2.15.1 server/server.go `natsListen`; Go net `addrList.first`
pub(crate) fn pick(found: impl IntoIterator<Item = SocketAddr>) -> Option<SocketAddr> {
    let mut first = None;
    for at in found {
        if at.is_ipv4() {
            return Some(at);
        }
        first = first.or(Some(at));
    }
    first
}

/// A socket that listens. "Every address", written either way, is that of both families; where
/// the kernel has no IPv6, `0.0.0.0` is IPv4's alone.
///
/// spec: Go net `favoriteAddrFamily`
///
/// # Errors
/// The system's.
pub(crate) fn listen(at: SocketAddr, backlog: i32) -> io::Result<Socket> {
    if !at.ip().is_unspecified() {
        return listen_at(at, backlog);
    }
    let both = SocketAddr::from((Ipv6Addr::UNSPECIFIED, at.port()));
    match listen_at(both, backlog) {
        Err(error) if at.is_ipv4() && error.kind() != io::ErrorKind::AddrInUse => {
            listen_at(at, backlog)
        }
        done => done,
    }
}

fn listen_at(at: SocketAddr, backlog: i32) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
    if at.is_ipv6() {
        socket.set_only_v6(!at.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&SockAddr::from(at))?;
    socket.listen(backlog)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    /// Which of 127.0.0.1 and ::1 lead to a listener on `host`.
    fn reached_by(host: &str) -> (bool, bool) {
        let socket = listen(at(&format!("{host}:0")), 1).unwrap();
        let port = socket.local_addr().unwrap().as_socket().unwrap().port();
        let leads = |near: &str| TcpStream::connect(format!("{near}:{port}")).is_ok();
        (leads("127.0.0.1"), leads("[::1]"))
    }

    /// spec: nats-server v2.15.1, measured
    #[test]
    fn every_address_is_that_of_both_families() {
        for (host, reached) in [
            ("0.0.0.0", (true, true)),
            ("[::]", (true, true)),
            ("127.0.0.1", (true, false)),
            ("[::1]", (false, true)),
        ] {
            assert_eq!(reached_by(host), reached, "{host}");
        }
    }

    #[test]
    fn a_port_that_is_taken_is_taken_for_both_families() {
        let taken = listen(at("0.0.0.0:0"), 1).unwrap();
        let port = taken.local_addr().unwrap().as_socket().unwrap().port();
        for host in ["0.0.0.0", "[::]", "[::1]", "127.0.0.1"] {
            let again = listen(at(&format!("{host}:{port}")), 1);
            let kind = again.map(drop).map_err(|error| error.kind());
            assert_eq!(kind, Err(io::ErrorKind::AddrInUse), "{host}");
        }
    }

    #[test]
    fn of_a_name_the_first_ipv4_address_is_taken() {
        let found = |texts: &[&str]| pick(texts.iter().map(|text| at(text)));
        assert_eq!(found(&["[::1]:1", "127.0.0.1:1"]), Some(at("127.0.0.1:1")));
        assert_eq!(found(&["[::1]:1", "[::2]:1"]), Some(at("[::1]:1")));
        assert_eq!(found(&[]), None);
    }
}
