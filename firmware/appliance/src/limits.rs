//! How much of everything.

use std::time::Duration;

/// Stack of each thread: none of them is deep.
pub(crate) const STACK_BYTES: usize = 192 * 1024;
/// Events on their way to the desk; a device that says more waits.
pub(crate) const EVENTS_MAX: usize = 1_024;
/// Bytes read from the broker at once.
pub(crate) const READ_BYTES: usize = 16 * 1024;
/// How long the broker may take to read what is said to it, before the connection is made anew.
pub(crate) const WRITE_WAIT: Duration = Duration::from_secs(5);
/// Between two attempts to connect, or to open a device that is not there.
pub(crate) const RETRY_WAIT: Duration = Duration::from_secs(1);
/// How long a wait for a device lasts, after which it is looked whether it is still wanted.
pub(crate) const LOOK_WAIT: Duration = Duration::from_millis(250);
/// How long the end may take, outputs included.
pub(crate) const STOP_WAIT: Duration = Duration::from_secs(2);
/// Between two attempts to find room for the end among other events.
pub(crate) const STOP_LOOK: Duration = Duration::from_millis(5);
/// How often people are told what the sensors say.
pub(crate) const TELL_EVERY: Duration = Duration::from_secs(1);
/// A message path that stands still for longer is a fault.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);
/// How often a start that goes on asks the service manager for more time.
pub(crate) const OPENING_EVERY: Duration = Duration::from_secs(5);
/// How much time it asks for.
pub(crate) const OPENING_MORE: Duration = Duration::from_secs(30);
/// A line that is longer is cut; one that does not end is told after this time.
pub(crate) const LINE_WAIT: Duration = Duration::from_millis(200);
