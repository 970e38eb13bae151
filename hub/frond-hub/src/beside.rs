//! Who looks after the boxes, beside the server: a client of it like any other, on a thread of its
//! own, and the page that shows what it knows.

#![expect(
    clippy::disallowed_methods,
    reason = "the shell is where time comes from"
)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use frond_account::DEFAULT_SYSTEM_ACCOUNT;
use frond_config::{Account, Config, Fleet};
use frond_runtime::{
    Attendance, Attendant, Caller, Doorway, HTML, JSON, Page, Part, Seen, Turn, whole_page,
};

use crate::fleet::{Host, Places, is_key, is_served};

/// What stands beside the server.
pub(crate) const ATTENDANCE: Attendance = Attendance {
    part: Part::Fleet,
    pages: &["/fleet", "/fleet.json"],
    check,
    begin,
};

const PAGE: &str = include_str!("beside/page.html");
const TURN: Duration = Duration::from_millis(500);
/// Between two attempts to begin.
const PAUSE: Duration = Duration::from_secs(2);
/// The document is made anew that often, and only while somebody looks.
const SHOWN_EVERY: Duration = Duration::from_secs(1);
const LOOKED_FOR: Duration = Duration::from_secs(20);

/// What the thread is told and tells.
#[derive(Debug)]
struct Board {
    /// The block in force; `None`: nobody looks after boxes.
    wanted: Option<Fleet>,
    /// The account its user is of.
    home: String,
    /// The system account, which knows the lines.
    system: String,
    is_over: bool,
    looked: Option<Instant>,
    document: Arc<str>,
}

type Shared = Arc<Mutex<Board>>;

/// Whether its key is one.
fn check(config: &Config) -> Result<(), String> {
    let path = config.fleet.as_ref().and_then(|it| it.confirm_key.as_ref());
    let checked = path.map(|path| is_key(Path::new(path)));
    checked
        .unwrap_or(Ok(()))
        .map_err(|why| format!("fleet: confirm_key: {why}"))
}

fn begin() -> Attendant {
    let board = Arc::new(Mutex::new(Board {
        wanted: None,
        home: String::new(),
        system: String::new(),
        is_over: false,
        looked: None,
        document: "{}".into(),
    }));
    Box::new(move |turn| match turn {
        Turn::Opening | Turn::Condition(_) => {}
        Turn::Ready { config, door, .. } => {
            want(&board, config);
            let board = Arc::clone(&board);
            let name = "fleet".to_owned();
            let run = move || look_after(&board, &door);
            if let Err(error) = std::thread::Builder::new().name(name).spawn(run) {
                say(&format!("nobody looks after the boxes: {error}"), true);
            }
        }
        Turn::Options(config) => want(&board, config),
        Turn::Page { path, seen, page } => *page = answer(&board, path, seen),
        Turn::Stopping => locked(&board).is_over = true,
    })
}

fn locked(board: &Shared) -> std::sync::MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

fn want(board: &Shared, config: &Config) {
    let mut board = locked(board);
    board.wanted.clone_from(&config.fleet);
    board.home = home(config);
    let system = config.system_account.as_deref();
    board.system = system.unwrap_or(DEFAULT_SYSTEM_ACCOUNT).to_owned();
}

/// The account it is at home in, or that of the user it is.
pub(crate) fn home(config: &Config) -> String {
    if let Some(account) = config.fleet.as_ref().and_then(|it| it.account.clone()) {
        return account;
    }
    let named = config.fleet.as_ref().and_then(|it| it.user.as_ref());
    let user = named.or(config.no_auth_user.as_ref());
    let has = |account: &&Account| {
        let mut users = account.users.iter();
        users.any(|it| Some(it.identity.name()) == user.map(String::as_str))
    };
    let account = config.accounts.iter().find(has);
    account.map_or_else(|| "$G".to_owned(), |it| it.name.clone())
}

/// Who may see everything sees the boxes, and who is of the account they say it in.
fn answer(board: &Shared, path: &str, seen: &Seen) -> Option<Page> {
    let mut board = locked(board);
    board.wanted.as_ref()?;
    let (content_type, body) = match (path, seen) {
        ("/fleet", _) => (HTML, whole_page(PAGE)),
        (_, Seen::Account(name)) if *name != board.home => {
            return Some(Page {
                status: 403,
                content_type: JSON,
                body: "{}".to_owned(),
            });
        }
        (_, Seen::All | Seen::Account(_)) => {
            board.looked = Some(Instant::now());
            (JSON, board.document.to_string())
        }
    };
    Some(Page {
        status: 200,
        content_type,
        body,
    })
}

/// Until the server ends: as the block says, and anew when it says something else.
fn look_after(board: &Shared, door: &Doorway) {
    let mut told = String::new();
    loop {
        let (wanted, is_over) = {
            let board = locked(board);
            (board.wanted.clone(), board.is_over)
        };
        if is_over {
            return;
        }
        let ended = match &wanted {
            Some(fleet) => serve(board, door, fleet),
            None => Ok(()),
        };
        if let Err(why) = ended
            && why != told
        {
            say(&format!("fleet: {why}"), true);
            told = why;
        }
        std::thread::park_timeout(PAUSE);
    }
}

/// Until the block says something else.
fn serve(board: &Shared, door: &Doorway, fleet: &Fleet) -> Result<(), String> {
    let stream = door.connect().map_err(|error| error.to_string())?;
    let (user, account) = (fleet.user.as_deref(), fleet.account.as_deref());
    let mut caller = Caller::within(stream, user, account)?;
    if is_served(&mut caller) {
        return Err("another server of this hub looks after the boxes; this one waits".to_owned());
    }
    let places = Places {
        bucket: fleet.bucket.clone(),
        registry: fleet.registry.clone(),
        rollouts: fleet.rollouts.clone(),
        silent_s: i64::try_from(fleet.silent.as_secs()).unwrap_or(i64::MAX),
        confirm_key: fleet.confirm_key.as_ref().map(PathBuf::from),
    };
    let mut host = Host::begin(caller, &places)?;
    host.catch_up()?;
    let system = locked(board).system.clone();
    let stream = door.connect().map_err(|error| error.to_string())?;
    match Caller::within(stream, None, Some(&system)) {
        Ok(system) => host.look_at(system),
        Err(why) => say(
            &format!("fleet: lines of others are not listed: {why}"),
            true,
        ),
    }
    let count = host.fleet().boxes().len();
    say(&format!("fleet: {count} boxes are known"), false);
    let mut shown: Option<Instant> = None;
    loop {
        host.turn(Instant::now() + TURN)?;
        for step in host.steps() {
            say(&format!("fleet: {}", step.text), step.is_bad);
        }
        let (is_looked_at, is_over) = {
            let board = locked(board);
            let is_over = board.is_over || board.wanted.as_ref() != Some(fleet);
            let looked = board.looked.is_some_and(|at| at.elapsed() < LOOKED_FOR);
            (looked, is_over)
        };
        if is_over {
            return Ok(());
        }
        let is_old = shown.is_none_or(|at| at.elapsed() >= SHOWN_EVERY);
        if shown.is_none() || (is_looked_at && is_old) {
            shown = Some(Instant::now());
            let view = host.fleet().view(host.now());
            let document = serde_json::to_string(&view).unwrap_or_default();
            locked(board).document = document.into();
        }
    }
}

fn say(text: &str, is_bad: bool) {
    frond_runtime::say(text, is_bad);
}
