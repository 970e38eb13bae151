//! The first process of the root: what it brings up, and its turns.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use frond_clock::Instant;
use frond_ota::Check;
use rustix::process::{Pid, Signal};

use crate::command_line::CommandLine;
use crate::hound::Hound;
use crate::message::{grumble, say};
use crate::processes::{Kept, Program, next_ended};
use crate::service::{Event, SILENCE_MAX};
use crate::stick::Sticks;
use crate::trial::{Trial, Verdict};
use crate::web::Web;
use crate::wires::{self, Wires};
use crate::{devices, disk, keep, modules, mounts, slots};

/// Where `frond` tells how it is doing.
const NOTIFY: &str = "/run/notify";
/// Where the first process is asked for something.
const CONTROL: &str = "/run/control";
const REBOOT: &str = "reboot";
/// Who `frond` is.
pub(crate) const USER: u32 = 1000;
const CONFIG: &str = "/data/frond.conf";
/// What a box runs that nobody has given a configuration.
const FACTORY: &str = "/etc/frond/frond.conf";
const TURN: Duration = Duration::from_millis(100);
/// Where the owner has image bundles, when anywhere: an address on a line.
const ADDRESS: &str = "/data/image.url";
/// Sticks and the gate are looked at that often.
const LOOK: Duration = Duration::from_secs(1);
/// How long processes get to end in good order.
const FAREWELL: Duration = Duration::from_secs(10);

/// Everything that runs.
struct System {
    start: std::time::Instant,
    line: CommandLine,
    hound: Hound,
    notify: UnixDatagram,
    control: UnixDatagram,
    frond: Kept,
    helpers: Vec<Kept>,
    wires: Wires,
    trial: Option<Trial>,
    sticks: Sticks,
    web: Web,
    /// An update at work, and where it comes from.
    update: Option<(Pid, &'static str)>,
    looked: Option<Instant>,
}

/// Comes up and stays. When it cannot, the box restarts: the boot loader counts.
pub(crate) fn run() -> ExitCode {
    let outcome = System::open().map(|system| system.serve());
    grumble("the system cannot come up", outcome);
    rustix::fs::sync();
    say(&slots::restart().to_string());
    ExitCode::FAILURE
}

/// From another process: everything is ended in good order, then the box restarts.
pub(crate) fn ask_for_reboot() -> io::Result<()> {
    UnixDatagram::unbound()?
        .send_to(REBOOT.as_bytes(), CONTROL)
        .map(|_| ())
}

impl System {
    fn open() -> io::Result<Self> {
        mounts::memory_file_systems()?;
        modules::load("/etc/modules");
        let mut hound = Hound::open();
        let line = CommandLine::read();
        let slot = slots::running()?;
        let version = slots::release("version").unwrap_or_default();
        say(&format!("slot {}, version {version}", slot.name()));
        keep::keep("state", "/state", &mut hound)?;
        keep::keep("data", "/data", &mut hound)?;
        provide()?;
        devices::hand_over(USER);
        let _ = Command::new("/bin/busybox")
            .args(["ip", "link", "set", "lo", "up"])
            .status();
        let notify = UnixDatagram::bind(NOTIFY)?;
        std::fs::set_permissions(NOTIFY, std::fs::Permissions::from_mode(0o666))?;
        notify.set_read_timeout(Some(TURN))?;
        let control = UnixDatagram::bind(CONTROL)?;
        std::fs::set_permissions(CONTROL, std::fs::Permissions::from_mode(0o600))?;
        control.set_nonblocking(true)?;
        // A trial's window is for what is tried, not for the check of a large file system before it.
        let (start, now) = (std::time::Instant::now(), Instant::from_nanos(0));
        let trial = match slots::trial()? {
            Some(looks) => {
                say("this slot is on trial");
                Trial::new(now, looks, line.window)
            }
            None => Trial::confirmed(),
        };
        Ok(Self {
            start,
            frond: Kept::new(frond(&line), now, true),
            helpers: helpers(now),
            wires: Wires::default(),
            trial: Some(trial),
            sticks: Sticks::default(),
            web: Web::new(now, &std::fs::read_to_string(ADDRESS).unwrap_or_default()),
            update: None,
            looked: None,
            line,
            hound,
            notify,
            control,
        })
    }

    fn now(&self) -> Instant {
        let nanos = self.start.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Until somebody wants a restart.
    fn serve(mut self) {
        loop {
            let now = self.now();
            self.frond.turn(now);
            for helper in &mut self.helpers {
                helper.turn(now);
            }
            self.hound.feed();
            self.hear();
            while let Some((pid, how)) = next_ended() {
                if self.reap(pid, &how) {
                    return self.end();
                }
            }
            if self.is_time_to_look() && self.look() {
                return self.end();
            }
            let mut word = [0; 64];
            if let Ok(length) = self.control.recv(&mut word)
                && word.get(..length) == Some(REBOOT.as_bytes())
            {
                say("somebody wants a restart");
                return self.end();
            }
        }
    }

    /// Takes what `frond` tells, or a turn's time.
    fn hear(&mut self) {
        let mut text = [0; 1024];
        let Ok(length) = self.notify.recv(&mut text) else {
            return;
        };
        let text = text.get(..length).unwrap_or_default();
        let now = self.now();
        for line in String::from_utf8_lossy(text).lines() {
            let event = match line.split_once('=') {
                Some(("READY", "1")) => Event::Ready,
                Some(("WATCHDOG", "1")) => Event::Alive,
                Some(("EXTEND_TIMEOUT_USEC", micros)) => {
                    Event::Longer(Duration::from_micros(micros.parse().unwrap_or(0)))
                }
                Some(_) | None => continue,
            };
            if event == Event::Ready {
                say("frond serves");
            }
            self.frond.service.handle(now, event);
        }
    }

    /// A process ended; whether the box is to restart for it.
    fn reap(&mut self, pid: Pid, how: &str) -> bool {
        let now = self.now();
        if let Some((_, origin)) = self.update.take_if(|(update, _)| *update == pid) {
            Sticks::done();
            say(&format!("the update from the {origin} ended: {how}"));
            return how == "status 0";
        }
        let mut all = core::iter::once(&mut self.frond).chain(&mut self.helpers);
        all.any(|kept| kept.reap(now, pid, how));
        false
    }

    fn is_time_to_look(&mut self) -> bool {
        let now = self.now();
        let is_time = self.looked.is_none_or(|at| now.since(at) >= LOOK);
        if is_time {
            self.looked = Some(now);
        }
        is_time
    }

    /// Looks at sticks and at the slot's trial; whether the box is to restart for it.
    fn look(&mut self) -> bool {
        devices::hand_over(USER);
        for name in self.wires.look() {
            let client = helper(format!("dhcp-{name}"), &wires::client(&name), self.now());
            self.helpers.push(client);
        }
        self.look_for_updates();
        let Some(mut trial) = self.trial.take() else {
            return false;
        };
        for check in trial.needs() {
            let result = match check {
                Check::Listeners if self.frond.service.is_serving() => Ok(()),
                Check::Listeners => Err("frond does not serve".to_owned()),
                Check::Probe
                | Check::Clients
                | Check::Uplink
                | Check::Hub
                | Check::Streams
                | Check::Kept => trial.look(check),
            };
            trial.note(self.now(), check, result);
        }
        match trial.poll(self.now(), self.frond.service.failures()) {
            None => {
                self.trial = Some(trial);
                false
            }
            Some(Verdict::Confirm) => {
                let confirmed = slots::running().and_then(slots::confirm);
                match grumble("confirming the slot", confirmed) {
                    Some(_) => say("the slot is confirmed"),
                    // What is not on the medium is tried again.
                    None => self.trial = Some(trial),
                }
                false
            }
            Some(Verdict::GiveUp(why)) => {
                say(&format!("the slot is given up: {why}"));
                grumble(
                    "giving up the slot",
                    slots::running().and_then(slots::give_up),
                );
                true
            }
        }
    }

    /// One at a time, and a stick first: somebody stands there with it.
    fn look_for_updates(&mut self) {
        if self.update.is_some() {
            return;
        }
        let now = self.now();
        let (words, origin) = if let Some(path) = self.sticks.look() {
            say(&format!("{} is on a stick", path.display()));
            (["offer".to_owned(), path.display().to_string()], "stick")
        } else if let Some(address) = self.web.poll(now) {
            (["fetch".to_owned(), address.to_owned()], "web")
        } else {
            return;
        };
        let program = updater(words, self.line.is_chatty);
        let pid = grumble("frond-slot", program.start());
        self.update = pid.map(|pid| (pid, origin));
    }

    /// Lets everything end in good order, for as long as the watchdog likes.
    fn end(mut self) {
        let since = self.now();
        self.frond.signal(Signal::TERM);
        while self.frond.is_running() && self.now().since(since) < FAREWELL {
            self.hound.feed();
            self.hear();
            while let Some((pid, how)) = next_ended() {
                self.reap(pid, &how);
            }
        }
        for helper in &self.helpers {
            helper.signal(Signal::KILL);
        }
        for at in ["/data", "/state"] {
            let _ = rustix::mount::unmount(at, rustix::mount::UnmountFlags::empty());
        }
        say("restart");
    }
}

/// What `frond` needs before it starts: a folder, and a configuration. The owner's comes from the
/// first partition of a newly flashed medium, and stays on the data partition from then on; so does
/// the address of image bundles.
fn provide() -> io::Result<()> {
    std::fs::create_dir_all("/data/frond")?;
    std::os::unix::fs::chown("/data/frond", Some(USER), Some(USER))?;
    std::os::unix::fs::chown("/state", Some(USER), Some(USER))?;
    let all = [CONFIG, ADDRESS];
    if all.iter().all(|path| Path::new(path).exists()) {
        return Ok(());
    }
    let at = "/run/select";
    std::fs::create_dir_all(at)?;
    let device = disk::wait_for_partition("select")?;
    if grumble("the first partition", mounts::foreign(&device, at)).is_some() {
        for path in all {
            let name = path.trim_start_matches("/data/");
            let given = format!("{at}/{name}");
            if !Path::new(path).exists() && Path::new(&given).exists() {
                say(&format!("{name} of the first partition is taken"));
                grumble("taking it", take(&given, path));
            }
        }
        let _ = rustix::mount::unmount(at, rustix::mount::UnmountFlags::DETACH);
    }
    Ok(())
}

/// Copies a file so that after a power cut it is whole or not there.
fn take(given: &str, path: &str) -> io::Result<()> {
    let fresh = format!("{path}.new");
    std::fs::copy(given, &fresh)?;
    std::os::unix::fs::chown(&fresh, Some(USER), Some(USER))?;
    std::fs::File::open(&fresh)?.sync_all()?;
    std::fs::rename(&fresh, path)?;
    std::fs::File::open("/data")?.sync_all()
}

fn frond(line: &CommandLine) -> Program {
    let has_own = Path::new(CONFIG).exists();
    let config = if has_own { CONFIG } else { FACTORY };
    let silence = SILENCE_MAX.as_micros().to_string();
    Program {
        name: "frond".to_owned(),
        path: "/usr/bin/frond",
        words: vec!["-c".to_owned(), config.to_owned()],
        user: Some(USER),
        environment: vec![
            ("NOTIFY_SOCKET", NOTIFY.to_owned()),
            ("WATCHDOG_USEC", silence),
            ("HOME", "/data/frond".to_owned()),
        ],
        is_chatty: line.is_chatty,
    }
}

fn helper(name: String, words: &[&str], now: Instant) -> Kept {
    let program = Program {
        name,
        path: "/bin/busybox",
        words: words.iter().map(|it| (*it).to_owned()).collect(),
        user: None,
        environment: Vec::new(),
        is_chatty: false,
    };
    Kept::new(program, now, false)
}

/// The time, where somebody tells it.
fn helpers(now: Instant) -> Vec<Kept> {
    let mut all = Vec::new();
    let servers = std::fs::read_to_string("/etc/frond/time-servers").unwrap_or_default();
    let mut words = vec!["ntpd", "-n"];
    for server in servers.split_whitespace() {
        words.extend(["-p", server]);
    }
    if words.len() > 2 {
        all.push(helper("time".to_owned(), &words, now));
    }
    all
}

fn updater(words: [String; 2], is_chatty: bool) -> Program {
    Program {
        name: "update".to_owned(),
        path: "/usr/bin/frond-slot",
        words: Vec::from(words),
        user: None,
        environment: Vec::new(),
        is_chatty,
    }
}
