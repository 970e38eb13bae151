use std::io;
use std::rc::Rc;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::clock::pause;
use crate::core::Core;
use crate::limits::{
    ACCEPT_PAUSE_MAX, HTTP_CONNECTIONS_MAX, HTTP_HEAD_BYTES_MAX, HTTP_HEADERS_MAX, HTTP_WAIT,
};

/// A document and how to send it.
#[derive(Debug)]
struct Answer {
    status: u16,
    content_type: &'static str,
    body: String,
}

/// Serves the monitoring documents until the task is aborted.
pub(crate) async fn serve(core: Rc<Core>, listener: TcpListener) {
    let places = Arc::new(Semaphore::new(HTTP_CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let core = Rc::clone(&core);
                tokio::task::spawn_local(async move {
                    // A peer that leaves early is its own affair.
                    let _ = tokio::time::timeout(HTTP_WAIT, converse(&core, stream)).await;
                    drop(place);
                });
            }
            Err(_) => pause(ACCEPT_PAUSE_MAX).await,
        }
    }
}

/// Requests and answers on one connection, one after another.
async fn converse(core: &Rc<Core>, mut stream: TcpStream) -> io::Result<()> {
    let mut head = Vec::with_capacity(1024);
    loop {
        let Some((length, target, keep, is_head)) = read_request(&mut stream, &mut head).await?
        else {
            return Ok(());
        };
        head.drain(..length);
        let answer = match target {
            Some(target) => document(core, &target),
            None => Answer {
                status: 405,
                content_type: "text/plain",
                body: "Method Not Allowed\n".to_owned(),
            },
        };
        send(&mut stream, &answer, keep, is_head).await?;
        if !keep {
            return stream.shutdown().await;
        }
    }
}

/// Length of the head, target when the method is `GET` or `HEAD`, keep-alive, whether `HEAD`.
type Request = (usize, Option<String>, bool, bool);

async fn read_request(stream: &mut TcpStream, head: &mut Vec<u8>) -> io::Result<Option<Request>> {
    loop {
        if let Some(request) = parse(head)? {
            return Ok(Some(request));
        }
        if head.len() >= HTTP_HEAD_BYTES_MAX {
            let answer = Answer {
                status: 431,
                content_type: "text/plain",
                body: "Request Header Fields Too Large\n".to_owned(),
            };
            send(stream, &answer, false, false).await?;
            return Ok(None);
        }
        if stream.read_buf(head).await? == 0 {
            return Ok(None);
        }
    }
}

fn parse(head: &[u8]) -> io::Result<Option<Request>> {
    let mut headers = [httparse::EMPTY_HEADER; HTTP_HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let status = request.parse(head).map_err(io::Error::other)?;
    let httparse::Status::Complete(length) = status else {
        return Ok(None);
    };
    let says_close = request.headers.iter().any(|header| {
        header.name.eq_ignore_ascii_case("connection")
            && header.value.eq_ignore_ascii_case(b"close")
    });
    let keep = request.version == Some(1) && !says_close;
    let is_head = request.method == Some("HEAD");
    let allowed = is_head || request.method == Some("GET");
    let target = request.path.filter(|_| allowed).map(str::to_owned);
    Ok(Some((length, target, keep && allowed, is_head)))
}

fn document(core: &Rc<Core>, target: &str) -> Answer {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let now = core.clock().now();
    let page = core.with_node(|node| {
        let view = node.view(now);
        core.meter().borrow_mut().measure(now, path, |process| {
            frond_monitor::render(&view, path, query, process)
        })
    });
    page.map_or_else(
        || Answer {
            status: 404,
            content_type: "text/plain; charset=utf-8",
            body: "404 page not found\n".to_owned(),
        },
        |page| Answer {
            status: page.status,
            content_type: page.content_type,
            body: page.body,
        },
    )
}

async fn send(
    stream: &mut TcpStream,
    answer: &Answer,
    keep: bool,
    is_head: bool,
) -> io::Result<()> {
    let reason = match answer.status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    };
    let connection = if keep { "keep-alive" } else { "close" };
    let mut text = format!(
        "HTTP/1.1 {} {reason}\r\nAccess-Control-Allow-Origin: *\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {connection}\r\n\r\n",
        answer.status,
        answer.content_type,
        answer.body.len()
    );
    if !is_head {
        text.push_str(&answer.body);
    }
    stream.write_all(text.as_bytes()).await
}
