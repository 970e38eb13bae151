//! The steward's own client: it comes in like any other, by a port that only it knows.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use frond_config::OtaLogin;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::talk::{self, Heard};
use super::{News, login};
use crate::clock::pause;
use crate::core::Core;
use crate::limits::OWN_LINE_PAUSE;
use crate::listener;

/// How long the login may take.
const LOGIN_TIME: Duration = Duration::from_secs(5);

/// Keeps the client connected until the task is aborted. `words` are whole operations; what comes
/// while it is not connected is lost.
pub(super) async fn keep(
    core: Rc<Core>,
    login: OtaLogin,
    news: UnboundedSender<News>,
    mut words: UnboundedReceiver<Vec<u8>>,
) {
    loop {
        let why = match connect(&core, &login).await {
            Ok((stream, rest)) => {
                while words.try_recv().is_ok() {}
                if news.send(News::Connected).is_err() {
                    return;
                }
                converse(stream, rest, &news, &mut words).await
            }
            Err(why) => why,
        };
        if news.send(News::Lost(why)).is_err() {
            return;
        }
        pause(OWN_LINE_PAUSE).await;
    }
}

async fn connect(core: &Rc<Core>, own: &OtaLogin) -> Result<(TcpStream, Vec<u8>), String> {
    let (mut ours, theirs) = pair().await.map_err(|error| error.to_string())?;
    listener::begin_inside(core, theirs);
    let shake = async {
        let mut buffer = Vec::new();
        loop {
            match next(&mut ours, &mut buffer).await? {
                Heard::Info(info) => {
                    let connect = login::connect(own, None, &info)?;
                    let written = ours.write_all(connect.as_bytes()).await;
                    written.map_err(|error| error.to_string())?;
                }
                Heard::Pong => return Ok(buffer),
                Heard::Error(why) => return Err(why),
                Heard::Message(_) | Heard::Ping | Heard::Other => {}
            }
        }
    };
    let shaken = tokio::time::timeout(LOGIN_TIME, shake).await;
    let rest = shaken.map_err(|_| "the login took too long".to_owned())??;
    Ok((ours, rest))
}

/// Two ends of one connection, and nobody else's.
async fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = listener.local_addr()?;
    let (ours, accepted) = tokio::join!(TcpStream::connect(at), listener.accept());
    let (ours, (theirs, from)) = (ours?, accepted?);
    if from != ours.local_addr()? {
        return Err(io::Error::other("somebody else came in"));
    }
    Ok((ours, theirs))
}

async fn next(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Heard, String> {
    loop {
        if let Some(heard) = talk::hear(buffer)? {
            return Ok(heard);
        }
        let read = stream.read_buf(buffer).await;
        if read.map_err(|error| error.to_string())? == 0 {
            return Err("the server closed the connection".to_owned());
        }
    }
}

/// Until the connection ends; why it did.
async fn converse(
    mut stream: TcpStream,
    mut buffer: Vec<u8>,
    news: &UnboundedSender<News>,
    words: &mut UnboundedReceiver<Vec<u8>>,
) -> String {
    let mut last_error = None;
    loop {
        let write = tokio::select! {
            said = words.recv() => match said {
                Some(said) => said,
                None => return "nobody needs it any more".to_owned(),
            },
            heard = next(&mut stream, &mut buffer) => match heard {
                Ok(Heard::Message(letter)) => {
                    let _ = news.send(News::Message(Box::new(letter)));
                    continue;
                }
                Ok(Heard::Ping) => b"PONG\r\n".to_vec(),
                Ok(Heard::Error(why)) => {
                    tracing::warn!("ota: the box's own client: {why}");
                    last_error = Some(why);
                    continue;
                }
                Ok(Heard::Info(_) | Heard::Pong | Heard::Other) => continue,
                Err(why) => return last_error.unwrap_or(why),
            },
        };
        if let Err(error) = stream.write_all(&write).await {
            return last_error.unwrap_or_else(|| error.to_string());
        }
    }
}
