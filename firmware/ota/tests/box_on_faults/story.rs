//! What happens to a box, without faults.

use crate::fleet;

/// One step of a story; the next one begins when the box is quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A good bundle of this version comes.
    Good(u64),
    /// A good one comes that is signed by new keys.
    Rotated,
    /// Everything that must be refused comes.
    Evil,
    /// Somebody at the box goes one back.
    Back,
    /// Somebody at the box wants the rescue configuration.
    Rescue,
}

/// What is the matter with the next configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// Nothing.
    Fine,
    /// It does not pass the check.
    Unfit,
    /// It cannot be taken while running, though the check passed.
    Refused,
    /// The process ends with it before it is ready.
    Crashes,
    /// It cuts the line to the hub.
    DeadUplink,
}

/// How configurations are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Reload,
    Restart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Story {
    pub(crate) name: &'static str,
    pub(crate) steps: &'static [Step],
    /// What is the matter with version 2; all others are fine.
    pub(crate) second: Nature,
    pub(crate) how: How,
    /// The clock starts at 1970.
    pub(crate) no_clock: bool,
}

const fn story(name: &'static str, steps: &'static [Step], second: Nature, how: How) -> Story {
    Story {
        name,
        steps,
        second,
        how,
        no_clock: false,
    }
}

const TWO: &[Step] = &[Step::Good(1), Step::Good(2)];
const ALL: &[Step] = &[
    Step::Evil,
    Step::Good(1),
    Step::Good(2),
    Step::Evil,
    Step::Back,
    Step::Good(1),
    Step::Rescue,
    Step::Rotated,
];

pub(crate) const STORIES: &[Story] = &[
    story("two good ones", TWO, Nature::Fine, How::Reload),
    story("two good ones, restarted", TWO, Nature::Fine, How::Restart),
    story("one that is unfit", TWO, Nature::Unfit, How::Reload),
    story("one that is refused", TWO, Nature::Refused, How::Reload),
    story("one that crashes", TWO, Nature::Crashes, How::Restart),
    story("one without a hub", TWO, Nature::DeadUplink, How::Reload),
    story(
        "one without a hub, restarted",
        TWO,
        Nature::DeadUplink,
        How::Restart,
    ),
    story("everything", ALL, Nature::Fine, How::Reload),
    story("everything, restarted", ALL, Nature::Fine, How::Restart),
    Story {
        no_clock: true,
        ..story("everything in 1970", ALL, Nature::Fine, How::Reload)
    },
];

impl Step {
    /// The bundles that come.
    pub(crate) fn bundles(self) -> Vec<Vec<u8>> {
        match self {
            Self::Good(version) => vec![fleet::good(version)],
            Self::Rotated => vec![fleet::rotated()],
            Self::Evil => fleet::evil().iter().map(|(_, it)| it.clone()).collect(),
            Self::Back | Self::Rescue => Vec::new(),
        }
    }
}
