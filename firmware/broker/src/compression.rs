use core::time::Duration;

/// How a link wants its connections compressed, as both ends of it configure for themselves.
///
/// spec: nats-server v2.15.1 server/server.go `selectCompressionMode`,
/// `selectS2AutoModeBasedOnRTT`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As a server that knows none.
    NotSupported,
    /// Not.
    Off,
    /// If the peer wants it.
    Accept,
    /// This much.
    Fixed(Packing),
    /// The more, the longer a round trip takes: up to these times not at all, fast, better; beyond
    /// them best. A time of 0 skips its step.
    Auto(Vec<Duration>),
}

/// How much is done to make small what goes over a connection whose ends agreed to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Nothing, beyond what the peer expects to unpack.
    Uncompressed,
    /// What costs little.
    Fast,
    /// More.
    Better,
    /// All.
    Best,
}

/// What two ends agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreed {
    /// Nothing is compressed, since one of them knows nothing of it.
    NotSupported,
    /// Nothing is compressed.
    Off,
    /// Both write frames from here on, this end so.
    Packed(Packing),
}

impl Compression {
    /// nats-server's default for leafnodes, and its default steps.
    #[must_use]
    pub fn auto() -> Self {
        Self::Auto(THRESHOLDS.to_vec())
    }

    /// As it is called in `INFO`; empty when it isn't told.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NotSupported => "",
            Self::Off => "off",
            Self::Accept => "accept",
            Self::Fixed(packing) => packing.name(),
            Self::Auto(_) => "s2_auto",
        }
    }

    /// Whether there is anything to agree on.
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        match self {
            Self::NotSupported | Self::Off => false,
            Self::Accept | Self::Fixed(_) | Self::Auto(_) => true,
        }
    }

    /// What comes of this end's wish and the peer's, as its `INFO` calls it.
    ///
    /// # Errors
    /// The text for an `-ERR` when the peer's word is unknown.
    pub fn agree(&self, peer: &str, rtt: Duration) -> Result<Agreed, String> {
        let wish = match peer {
            "" | "not supported" => return Ok(Agreed::NotSupported),
            "off" => return Ok(Agreed::Off),
            "accept" => None,
            // Whose ends are "accept" and "auto" get the first step.
            "s2_auto" => Some(Packing::Fast),
            other => match Packing::named(other) {
                Some(packing) => Some(packing),
                None => return Err(format!("unsupported route compression mode {other:?}")),
            },
        };
        Ok(match (self, wish) {
            (Self::NotSupported, _) => Agreed::NotSupported,
            (Self::Off, _) | (Self::Accept, None) => Agreed::Off,
            (Self::Accept, Some(packing)) => Agreed::Packed(packing),
            (Self::Fixed(packing), _) => Agreed::Packed(*packing),
            (Self::Auto(steps), _) => Agreed::Packed(step(steps, rtt)),
        })
    }

    /// What a round trip of `rtt` changes; `None` for modes that it doesn't.
    #[must_use]
    pub fn for_rtt(&self, rtt: Duration) -> Option<Packing> {
        match self {
            Self::Auto(steps) => Some(step(steps, rtt)),
            Self::NotSupported | Self::Off | Self::Accept | Self::Fixed(_) => None,
        }
    }

    /// As this end calls in its `INFO` what was agreed.
    #[must_use]
    pub const fn answer(&self, packing: Packing) -> &'static str {
        match self {
            Self::Auto(_) => "s2_auto",
            Self::NotSupported | Self::Off | Self::Accept | Self::Fixed(_) => packing.name(),
        }
    }
}

impl Packing {
    /// As it is called between servers and in monitoring.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uncompressed => "s2_uncompressed",
            Self::Fast => "s2_fast",
            Self::Better => "s2_better",
            Self::Best => "s2_best",
        }
    }

    fn named(name: &str) -> Option<Self> {
        let all = [Self::Uncompressed, Self::Fast, Self::Better, Self::Best];
        all.into_iter().find(|packing| packing.name() == name)
    }
}

impl Agreed {
    /// As it is called in `CONNECT` and in monitoring.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotSupported => "not supported",
            Self::Off => "off",
            Self::Packed(packing) => packing.name(),
        }
    }
}

fn step(steps: &[Duration], rtt: Duration) -> Packing {
    let found = steps.iter().position(|most| rtt <= *most);
    let beyond = if steps.len() >= 3 {
        3
    } else {
        steps.len().saturating_sub(1)
    };
    match found.unwrap_or(beyond) {
        0 => Packing::Uncompressed,
        1 => Packing::Fast,
        2 => Packing::Better,
        _ => Packing::Best,
    }
}

const THRESHOLDS: [Duration; 3] = [
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(100),
];

#[cfg(test)]
mod tests {
    use super::*;

    const LAN: Duration = Duration::from_millis(1);

    #[test]
    fn two_ends_agree_as_nats_servers_do() {
        let fixed = Compression::Fixed;
        for (own, peer, agreed) in [
            (Compression::auto(), "", "not supported"),
            (Compression::auto(), "off", "off"),
            (Compression::auto(), "accept", "s2_uncompressed"),
            (Compression::auto(), "s2_best", "s2_uncompressed"),
            (Compression::Accept, "accept", "off"),
            (Compression::Accept, "s2_auto", "s2_fast"),
            (Compression::Accept, "s2_better", "s2_better"),
            (fixed(Packing::Best), "s2_fast", "s2_best"),
            (fixed(Packing::Fast), "accept", "s2_fast"),
            (Compression::Off, "s2_fast", "off"),
        ] {
            let name = own.agree(peer, LAN).map(Agreed::name);
            assert_eq!(name, Ok(agreed), "{own:?} {peer}");
        }
        let unknown = Compression::auto().agree("zstd", LAN).unwrap_err();
        assert_eq!(unknown, "unsupported route compression mode \"zstd\"");
    }

    #[test]
    fn a_longer_way_is_worth_more_effort() {
        let millis = |list: &[u64]| list.iter().map(|ms| Duration::from_millis(*ms)).collect();
        for (steps, rtt, name) in [
            (vec![10, 50, 100], 10, "s2_uncompressed"),
            (vec![10, 50, 100], 11, "s2_fast"),
            (vec![10, 50, 100], 100, "s2_better"),
            (vec![10, 50, 100], 101, "s2_best"),
            (vec![0, 0, 20, 30], 5, "s2_better"),
            (vec![0, 0, 20], 25, "s2_best"),
            (vec![5, 10], 25, "s2_fast"),
            (vec![5], 25, "s2_uncompressed"),
        ] {
            let auto = Compression::Auto(millis(&steps));
            let packing = auto.for_rtt(Duration::from_millis(rtt)).unwrap();
            assert_eq!(packing.name(), name, "{steps:?} {rtt}");
        }
    }
}
