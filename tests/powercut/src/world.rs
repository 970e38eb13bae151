//! One server on one disk, cut again and again.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use interop::load::{Finding, Findings, Load};
use interop::{Kind, Random, Server, Setup, free_port, http_get, wait_for_async};
use tokio::time::timeout;

use crate::disk::Model;
use crate::medium::Medium;

const WELL_BOUND: Duration = Duration::from_secs(10);
const CUT_BOUND: Duration = Duration::from_secs(120);
/// Acks that were on their way when the power went are still read.
const HEARD_FOR: Duration = Duration::from_millis(3);
const OPERATION_BOUND: Duration = Duration::from_millis(600);
const CUTS_MAX: u64 = 24;

/// Who is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// `frond`.
    Frond,
    /// nats-server as it comes.
    Real,
    /// nats-server with `sync_interval: always`.
    RealAlways,
}

impl Contender {
    /// What to call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Frond => "frond",
            Self::Real => "nats-server",
            Self::RealAlways => "nats-server-always",
        }
    }

    fn kind(self) -> Kind {
        match self {
            Self::Frond => Kind::Leaf,
            Self::Real | Self::RealAlways => Kind::Real,
        }
    }

    fn options(self) -> &'static str {
        match self {
            Self::Frond | Self::Real => "",
            Self::RealAlways => "sync_interval: always, ",
        }
    }
}

/// How what is stored is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// Not at all.
    Off,
    /// With ChaCha20-Poly1305.
    ChaCha,
    /// With AES-GCM.
    Aes,
}

impl Encryption {
    fn options(self) -> &'static str {
        match self {
            Self::Off => "",
            Self::ChaCha => "key: \"a key\", cipher: chacha, ",
            Self::Aes => "key: \"a key\", cipher: aes, ",
        }
    }
}

/// What a world is made of.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Who.
    pub contender: Contender,
    /// On which disk; one that lies does so after the streams are made.
    pub model: Model,
    /// How what it stores is encrypted.
    pub encryption: Encryption,
    /// What decides the moments, the load and what is left.
    pub seed: u64,
    /// No more cuts than these.
    pub cuts_max: u64,
}

/// How a world went.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// How often the power was cut.
    pub cuts: u64,
    /// How often that was while it was starting.
    pub cuts_at_start: u64,
    /// Acks and confirmed answers.
    pub promises: u64,
    /// What was promised and is not so; a world ends with it.
    pub findings: Findings,
}

struct Rig {
    http: String,
    random: Random,
    load: Load,
    // Before the disk: it has files open there.
    server: Server,
    medium: Medium,
    world: World,
}

impl World {
    /// Runs a world to its end. A panic in it (a server that does not start, or does not answer)
    /// is a finding.
    #[must_use]
    pub fn run(plan: Plan) -> Self {
        let seen = Arc::new(Mutex::new(Self::default()));
        let told = Arc::clone(&seen);
        let ended = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(life(plan, &told));
        });
        let ended = ended.join();
        let mut world = seen.lock().expect("nobody panics with it").clone();
        if let Err(panic) = ended {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
            let words = words.unwrap_or("a panic without words");
            world.findings.add(Finding::NotWell, words);
            world.cuts += 1;
        }
        world
    }
}

async fn life(plan: Plan, told: &Mutex<World>) {
    let mut rig = Rig::new(plan).await;
    let cuts = (1 + rig.random.below(CUTS_MAX)).min(plan.cuts_max);
    while rig.world.cuts < cuts && rig.world.findings.is_empty() {
        let cut = timeout(CUT_BOUND, rig.cut()).await;
        if cut.is_err() {
            rig.world
                .findings
                .add(Finding::NotWell, "it does not answer");
        }
        rig.world.promises = rig.load.promises();
        told.lock().unwrap().clone_from(&rig.world);
    }
    if rig.world.findings.is_empty() {
        let url = rig.server.url();
        rig.load.drain(&url, &mut rig.world.findings).await;
    }
    told.lock().unwrap().clone_from(&rig.world);
}

impl Rig {
    async fn new(plan: Plan) -> Self {
        let medium = Medium::new(
            match plan.model {
                Model::Lying => Model::Ext4,
                Model::Ext4 | Model::Posix => plan.model,
            },
            plan.seed,
        );
        let http = format!("127.0.0.1:{}", free_port());
        let config = format!(
            "listen: \"127.0.0.1:-1\"\nhttp: \"{http}\"\njetstream {{ {}{}store_dir: \"{}\" }}\n",
            plan.contender.options(),
            plan.encryption.options(),
            medium.path().display()
        );
        let server = Server::start(plan.contender.kind(), &Setup::config(&config));
        let mut load = Load::new(plan.seed ^ 0x10AD);
        load.set_up(&server.url()).await;
        medium.set_model(plan.model);
        Self {
            http,
            random: Random::new(plan.seed ^ 0xC07),
            load,
            server,
            medium,
            world: World::default(),
        }
    }

    /// Loads it, cuts it off, starts it again, and looks at what is there.
    async fn cut(&mut self) {
        let url = self.server.url();
        let by_operation = self.random.once_in(2);
        let moment = if by_operation {
            self.medium.pull_after(self.random.below(1_500));
            OPERATION_BOUND
        } else {
            Duration::from_millis(5 + self.random.below(400))
        };
        let medium = &self.medium;
        let pulled = async {
            let _ = timeout(moment, medium.pulled()).await;
            medium.pull();
            let _ = timeout(HEARD_FOR, pending::<()>()).await;
        };
        tokio::select! {
            () = self.load.run(&url, &mut self.world.findings) => {}
            () = pulled => {}
        }
        self.power_off_and_on();
        // The power may go again before it is up.
        while self.random.once_in(4) {
            self.medium.pull_after(self.random.below(150));
            let medium = &self.medium;
            if self.server.restart_unless(|| medium.is_pulled()) {
                self.medium.pull();
            } else {
                self.world.cuts_at_start += 1;
            }
            self.power_off_and_on();
        }
        self.server.restart();
        self.is_well().await;
        let url = self.server.url();
        self.load.check(&url, &mut self.world.findings).await;
    }

    fn power_off_and_on(&mut self) {
        self.server.signal(interop::Signal::KILL);
        self.medium.let_go();
        self.server.kill();
        self.medium.restore();
        self.world.cuts += 1;
    }

    async fn is_well(&mut self) {
        let health = || http_get(&self.http, "/healthz");
        let is_well = wait_for_async("healthz to say ok", 2 * WELL_BOUND, async || {
            (health().0 == 200).then_some(())
        });
        if timeout(WELL_BOUND, is_well).await.is_err() {
            self.world.findings.add(Finding::NotWell, health().1);
        }
        if self.server.kind() != Kind::Leaf {
            return;
        }
        // A loss of power is no damage.
        let log = self.server.log();
        for line in log.lines().filter(|line| line.contains("damaged")) {
            self.world.findings.add(Finding::NotWell, line);
        }
    }
}
