use std::io;
use std::net::{ToSocketAddrs as _, UdpSocket};
use std::os::unix::net::UnixDatagram;

/// The system's log, here or on another machine, by RFC 3164 datagrams.
#[derive(Debug)]
pub(super) enum Syslog {
    Local(UnixDatagram),
    Remote(UdpSocket),
}

const LOCAL: [&str; 2] = ["/dev/log", "/var/run/syslog"];

impl Syslog {
    /// # Errors
    /// When nothing listens for the system's log.
    pub(super) fn local() -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        for path in LOCAL {
            if socket.connect(path).is_ok() {
                socket.set_nonblocking(true)?;
                return Ok(Self::Local(socket));
            }
        }
        let text = "no system log here: neither /dev/log nor /var/run/syslog answers";
        Err(io::Error::new(io::ErrorKind::NotFound, text))
    }

    /// At `udp://host:port`, port 514 if none is given.
    ///
    /// # Errors
    /// When the address is none, or of another protocol.
    pub(super) fn remote(url: &str) -> io::Result<Self> {
        let bad = |why: &str| {
            let text = format!("remote_syslog {url:?}: {why}; write udp://HOST:514");
            io::Error::new(io::ErrorKind::InvalidInput, text)
        };
        let (scheme, rest) = url.split_once("://").unwrap_or(("udp", url));
        if scheme != "udp" {
            return Err(bad("only udp is spoken"));
        }
        let host = rest.trim_end_matches('/');
        let has_port = host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = if has_port {
            host.to_owned()
        } else {
            format!("{host}:514")
        };
        let to = host.to_socket_addrs()?.next();
        let to = to.ok_or_else(|| bad("the host has no address"))?;
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any)?;
        socket.connect(to)?;
        socket.set_nonblocking(true)?;
        Ok(Self::Remote(socket))
    }

    /// A line that doesn't get through is lost: logging must not hold the server up.
    pub(super) fn send(&self, tag: &str, words: &str) {
        let severity = match tag {
            "FTL" => 2,
            "ERR" => 3,
            "WRN" => 4,
            "INF" => 5,
            _ => 7,
        };
        let name = crate::files::program();
        let line = format!(
            "<{}>{name}[{}]: {words}",
            DAEMON * 8 + severity,
            std::process::id()
        );
        let _ = match self {
            Self::Local(socket) => socket.send(line.as_bytes()),
            Self::Remote(socket) => socket.send(line.as_bytes()),
        };
    }
}

/// The facility of daemons.
const DAEMON: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_line_arrives_as_one_datagram_with_its_severity() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let url = format!("udp://{}", receiver.local_addr().unwrap());
        Syslog::remote(&url).unwrap().send("ERR", "disk is full");
        let mut buffer = [0; 200];
        let n = receiver.recv(&mut buffer).unwrap();
        let line = String::from_utf8_lossy(&buffer[..n]).into_owned();
        assert!(
            line.starts_with("<27>") && line.ends_with("]: disk is full"),
            "{line}"
        );
    }

    #[test]
    fn another_protocol_is_refused_with_a_remedy() {
        let error = Syslog::remote("tcp://127.0.0.1:514").unwrap_err();
        assert!(error.to_string().contains("write udp://HOST:514"));
    }
}
