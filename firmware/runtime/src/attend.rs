//! Who stands beside the server for as long as it lives: the field side of the leaf binary, or who
//! looks after the boxes of a hub. It is told how things are, and connects to the server without a
//! port.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use frond_clock::Trust;
use frond_config::Config;
use frond_monitor::{Condition as Shown, Page, Seen, Sensor, Trouble};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, spawn_local};

use crate::clock::pause;
use crate::core::Core;
use crate::limits::LOOK_EVERY;
use crate::listener;

/// What a binary brings to stand beside the server.
#[derive(Clone, Copy, Debug)]
pub struct Attendance {
    /// What it is.
    pub part: Part,
    /// Paths of its private pages, below the configured base path.
    pub pages: &'static [&'static str],
    /// Whether the configuration can be served: at a start, a check and a reload.
    pub check: fn(&Config) -> Result<(), String>,
    /// Begins; before anything is opened.
    pub begin: fn() -> Attendant,
}

/// What stands beside a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What a box has besides a network.
    Field,
    /// Who looks after boxes.
    Fleet,
}

/// Takes each turn in the server's life. Called on the server's own thread: it may not wait, but
/// for [`Turn::Stopping`].
pub type Attendant = Box<dyn FnMut(Turn<'_>)>;

/// A turn in the server's life.
#[derive(Debug)]
pub enum Turn<'a> {
    /// It opens its data directory, which may take its time.
    Opening,
    /// It serves.
    Ready {
        /// The options in force.
        config: &'a Config,
        /// The way in.
        door: Doorway,
        /// Where people look.
        board: Noticeboard,
    },
    /// The options in force, told again and again: a reload may have changed them.
    Options(&'a Config),
    /// How it is, told again and again.
    Condition(Condition),
    /// Somebody who may see private pages asks the monitoring port for one of its own.
    Page {
        /// Its path, below the configured base path.
        path: &'a str,
        /// Who asks.
        seen: &'a Seen,
        /// The answer, if there is such a page.
        page: &'a mut Option<Page>,
    },
    /// It ends when this returns.
    Stopping,
}

/// How the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Lines to hubs that are to be up.
    pub lines: usize,
    /// Those that are.
    pub lines_up: usize,
    /// All in one word.
    pub shown: Shown,
    /// The wall clock is believed.
    pub is_time_trusted: bool,
}

/// The way into the server from within its process. Whoever comes this way is the user it names.
#[derive(Clone, Debug)]
pub struct Doorway(UnboundedSender<OwnedFd>);

impl Doorway {
    /// A connection, spoken on like any client's.
    ///
    /// # Errors
    /// The system's; `ConnectionRefused` once the server is gone.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let (own, other) = UnixStream::pair()?;
        other.set_nonblocking(true)?;
        let sent = self.0.send(other.into());
        sent.map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused))?;
        Ok(own)
    }
}

/// What the status page shows of the sensors, and of what cannot be used.
#[derive(Clone, Debug, Default)]
pub struct Noticeboard(Arc<Mutex<(Vec<Sensor>, Vec<Trouble>)>>);

impl Noticeboard {
    /// In place of all that was there.
    pub fn pin(&self, sensors: Vec<Sensor>, troubles: Vec<Trouble>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (sensors, troubles);
    }

    /// What is there.
    pub(crate) fn pinned(&self) -> (Vec<Sensor>, Vec<Trouble>) {
        let pinned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pinned.clone()
    }
}

/// Who stands beside this server, if anybody.
#[derive(Clone, Default)]
pub(crate) struct Beside(Rc<RefCell<Option<Someone>>>);

struct Someone {
    attendant: Attendant,
    pages: &'static [&'static str],
}

impl std::fmt::Debug for Beside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Beside").field(&self.is_there()).finish()
    }
}

impl Beside {
    pub(crate) fn begin(attendance: Option<Attendance>) -> Self {
        let someone = attendance.map(|it| Someone {
            attendant: (it.begin)(),
            pages: it.pages,
        });
        Self(Rc::new(RefCell::new(someone)))
    }

    pub(crate) fn is_there(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Whether it has a private page below the base path, and what is left of the path there.
    pub(crate) fn finds<'p>(&self, base: &str, path: &'p str) -> Option<&'p str> {
        let pages = self.0.borrow().as_ref().map_or(&[][..], |it| it.pages);
        let base = base.trim_matches('/');
        let rest = match base {
            "" => path,
            base => path.strip_prefix('/')?.strip_prefix(base)?,
        };
        pages.contains(&rest).then_some(rest)
    }

    /// The page at a path, if there is one for whoever asks.
    pub(crate) fn page(&self, path: &str, seen: &Seen) -> Option<Page> {
        let mut page = None;
        let asked = Turn::Page {
            path,
            seen,
            page: &mut page,
        };
        self.tell(asked);
        page
    }

    pub(crate) fn tell(&self, turn: Turn<'_>) {
        if let Some(someone) = self.0.borrow_mut().as_mut() {
            (someone.attendant)(turn);
        }
    }
}

/// The server serves: who stands beside it may come in, and is told how it goes. The tasks that
/// see to it.
pub(crate) fn begin(core: &Rc<Core>, beside: &Beside, config: &Config) -> Vec<JoinHandle<()>> {
    core.forwards().apply(core, config);
    if !beside.is_there() {
        return Vec::new();
    }
    let (sender, comers) = unbounded_channel();
    let door = Doorway(sender);
    let open = spawn_local(open(Rc::clone(core), comers));
    let board = core.meter().borrow().board();
    beside.tell(Turn::Ready {
        config,
        door,
        board,
    });
    let look = spawn_local(look(Rc::clone(core), beside.clone()));
    vec![open, look]
}

/// Who stands beside the server, and what is brought to hubs, ends before it.
pub(crate) fn end(core: &Core, beside: &Beside) {
    beside.tell(Turn::Stopping);
    core.forwards().stop();
}

/// Lets in who comes from within. The socket is one of a pair, with the calls of any other: that
/// it has no address is the only difference.
async fn open(core: Rc<Core>, mut comers: UnboundedReceiver<OwnedFd>) {
    while let Some(fd) = comers.recv().await {
        match TcpStream::from_std(fd.into()) {
            Ok(stream) => listener::welcome_within(&core, stream),
            Err(error) => tracing::error!("the field side cannot come in: {error}"),
        }
    }
}

/// Looks now and then how the server is, and tells. Where nobody would do anything with it, nothing
/// is looked at: an idle server stays as small as it is.
async fn look(core: Rc<Core>, beside: Beside) {
    // systemd's word for it that it wants signs of life.
    let is_watched = std::env::var_os("WATCHDOG_USEC").is_some();
    let mut had_field = false;
    loop {
        let has_field = core.with_node(|node| {
            let config = node.config();
            config.appliance.is_some() || config.fleet.is_some()
        });
        if has_field || had_field || is_watched {
            core.with_node(|node| beside.tell(Turn::Options(node.config())));
            beside.tell(Turn::Condition(condition(&core)));
        }
        had_field = has_field;
        if has_field || is_watched {
            pause(LOOK_EVERY).await;
        } else {
            core.reloaded.notified().await;
        }
    }
}

fn condition(core: &Rc<Core>) -> Condition {
    let now = core.clock().now();
    core.with_node(|node| {
        let view = node.view(now);
        let lines = view.broker.link_statuses().map(|(_, _, status)| status);
        let lines = lines.filter(|it| it.kind == "leafnode" && !it.urls.is_empty());
        let (mut all, mut up) = (0, 0);
        for line in lines {
            all += 1;
            up += usize::from(line.state == "up");
        }
        let trust = core.clock().trust();
        let shown = core
            .meter()
            .borrow_mut()
            .measure(now, trust, "", |process| {
                frond_monitor::condition(&view, process)
            });
        Condition {
            lines: all,
            lines_up: up,
            shown,
            is_time_trusted: trust == Trust::Trusted,
        }
    })
}
