//! A line between two servers in any weather: it breaks at once or after so many bytes, swallows
//! everything for a while, or carries little.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::interval;

/// What a line does with what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weather {
    /// It carries all.
    Fair,
    /// It carries nothing, and says so to nobody; what was said is there when it is fair again.
    Hole,
    /// It carries so many bytes a second each way.
    Slow(usize),
    /// It takes so long each way for each piece.
    Far(Duration),
}

/// How a line breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// Both ends are told with a reset.
    Reset,
    /// Both ends are told that the other one is done.
    Close,
}

/// Which of the two ends speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// Who dialled.
    Near,
    /// Who was dialled.
    Far,
}

/// A line from one port of loopback to another; its tasks end with the runtime.
#[derive(Debug)]
pub struct FlakyLine {
    port: u16,
    sky: Arc<Sky>,
}

#[derive(Debug)]
struct Sky {
    weather: watch::Sender<Weather>,
    /// How often it broke, and how the last time.
    broken: watch::Sender<(u64, Break)>,
    fuse: Mutex<Option<Fuse>>,
}

/// Breaks the line once so many bytes came through.
#[derive(Debug, Clone, Copy)]
struct Fuse {
    speaker: Speaker,
    bytes: usize,
    how: Break,
}

impl FlakyLine {
    /// Listens on a free port, dials `to` for each connection.
    ///
    /// # Panics
    /// When loopback has no port left.
    pub async fn new(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let sky = Arc::new(Sky {
            weather: watch::Sender::new(Weather::Fair),
            broken: watch::Sender::new((0, Break::Close)),
            fuse: Mutex::new(None),
        });
        let over = Arc::clone(&sky);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&over).carry(near, to));
            }
        });
        Self { port, sky }
    }

    /// Where to dial.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From here on.
    pub fn set(&self, weather: Weather) {
        self.sky.weather.send_replace(weather);
    }

    /// Ends every connection there is.
    pub fn cut(&self, how: Break) {
        self.sky.cut(how);
    }

    /// Ends every connection there is once `speaker` said so many more bytes, of which the last
    /// one still comes through.
    ///
    /// # Panics
    /// When a task panicked.
    pub fn cut_after(&self, speaker: Speaker, bytes: usize, how: Break) {
        let fuse = Fuse {
            speaker,
            bytes,
            how,
        };
        *self.sky.fuse.lock().expect("no panic") = Some(fuse);
    }

    /// Whether that is yet to happen.
    ///
    /// # Panics
    /// When a task panicked.
    #[must_use]
    pub fn is_to_be_cut(&self) -> bool {
        self.sky.fuse.lock().expect("no panic").is_some()
    }
}

impl Sky {
    fn cut(&self, how: Break) {
        self.broken
            .send_modify(|broken| *broken = (broken.0 + 1, how));
    }

    async fn carry(self: Arc<Self>, mut near: TcpStream, to: u16) {
        let mut broken = self.broken.subscribe();
        let Ok(mut far) = TcpStream::connect(("127.0.0.1", to)).await else {
            return;
        };
        let how = {
            let (near_says, near_hears) = near.split();
            let (far_says, far_hears) = far.split();
            tokio::select! {
                _ = self.pump(Speaker::Near, near_says, far_hears) => Break::Close,
                _ = self.pump(Speaker::Far, far_says, near_hears) => Break::Close,
                _ = broken.changed() => broken.borrow().1,
            }
        };
        if how == Break::Reset {
            for stream in [&near, &far] {
                let _ = stream.set_zero_linger();
            }
        }
    }

    /// Until one of the two ends, or a fuse is through.
    async fn pump(
        &self,
        speaker: Speaker,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let mut weather = self.weather.subscribe();
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let _ = weather.wait_for(|now| *now != Weather::Hole).await;
            let now = *weather.borrow();
            let at_once = match now {
                Weather::Slow(rate) => (rate / TICKS_PER_S).max(1),
                Weather::Fair | Weather::Hole | Weather::Far(_) => PIECE_BYTES,
            };
            let room = piece.get_mut(..at_once).expect("no more than a piece");
            let count = from.read(room).await?;
            let _ = weather.wait_for(|now| *now != Weather::Hole).await;
            let read = piece.get(..count).expect("read");
            if let Weather::Far(time) = now {
                pause(time).await;
            }
            let (through, breaks) = self.burn(speaker, count);
            to.write_all(read.get(..through).expect("no more than read"))
                .await?;
            if let Some(how) = breaks {
                self.cut(how);
                return std::future::pending().await;
            }
            if count == 0 {
                return Ok(());
            }
            if matches!(now, Weather::Slow(_)) {
                pause(TICK).await;
            }
        }
    }

    /// So many bytes are on their way: how many of them come through, and whether it breaks then.
    fn burn(&self, speaker: Speaker, count: usize) -> (usize, Option<Break>) {
        let mut fuse = self.fuse.lock().expect("no panic");
        match fuse.as_mut().filter(|fuse| fuse.speaker == speaker) {
            Some(lit) if lit.bytes <= count => {
                let (through, how) = (lit.bytes, lit.how);
                *fuse = None;
                (through, Some(how))
            }
            Some(lit) => {
                lit.bytes -= count;
                (count, None)
            }
            None => (count, None),
        }
    }
}

/// Lets time go by where time itself is what is tried.
pub(crate) async fn pause(time: Duration) {
    let mut ticks = interval(time);
    ticks.tick().await;
    ticks.tick().await;
}

const PIECE_BYTES: usize = 16 * 1024;
const TICKS_PER_S: usize = 20;
const TICK: Duration = Duration::from_millis(50);
