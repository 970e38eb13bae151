//! spec: nats-server v2.15.1 server/parser.go

use crate::common::Head;
use crate::fields::is_blank;
use crate::limits::{PEER_CONTROL_LINE_FACTOR, VERB_BYTES_MAX};
use crate::operation::{Body, Found, operation};
use crate::verb::{Dialect, Verb};
use crate::{Limits, Message, Op, WireError, common};

/// Finds one operation after the other at the start of a connection's read buffer.
///
/// The buffer stays the caller's; between calls it may grow at its end and must lose
/// exactly what was reported as consumed. After an error the parser is of no further use.
#[derive(Clone, Debug)]
pub struct Parser {
    dialect: Dialect,
    limits: Limits,
    /// Bytes of the unfinished control line that hold no line end.
    scanned: usize,
    /// No operation can be complete with fewer bytes.
    need: usize,
}

/// What a call found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'b> {
    /// One operation, and how many bytes at the start of the buffer it took.
    Op {
        /// The operation, in slices of the buffer.
        op: Op<'b>,
        /// Bytes to remove from the buffer before the next call.
        consumed: usize,
    },
    /// Nothing complete: the buffer must hold at least this many bytes in total
    /// before another call can find more.
    Need(usize),
}

impl Parser {
    /// A parser at the start of a connection.
    #[must_use]
    pub const fn new(dialect: Dialect, limits: Limits) -> Self {
        Self {
            dialect,
            limits,
            scanned: 0,
            need: 1,
        }
    }

    /// Other limits (an account may have its own), also for an operation not yet complete.
    pub const fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The other end speaks differently from the next operation on.
    pub const fn set_dialect(&mut self, dialect: Dialect) {
        self.dialect = dialect;
    }

    /// A whole publish of a client at the start of `buf`, in the form libraries write, and the
    /// bytes it takes. `None` says nothing: [`Self::parse`] has to look.
    ///
    /// `head` is what the last call found in the same read, `None` at first.
    pub fn common_publish<'b>(
        &mut self,
        buf: &'b [u8],
        head: &mut Option<Head<'b>>,
    ) -> Option<(Message<'b>, usize)> {
        if buf.len() < self.need || self.dialect != Dialect::Client {
            return None;
        }
        let size_max = self.limits.payload_bytes_max.unwrap_or(usize::MAX);
        let found = common::publish(buf, self.limits.control_line_bytes_max, size_max, head)?;
        (self.scanned, self.need) = (0, 1);
        Some(found)
    }

    /// The next operation at the start of `buf`.
    ///
    /// # Errors
    /// As soon as it is certain that the peer broke the protocol, see [`WireError`].
    pub fn parse<'b>(&mut self, buf: &'b [u8]) -> Result<Step<'b>, WireError> {
        if buf.len() < self.need {
            return Ok(Step::Need(self.need));
        }
        let Some((verb, verb_len)) = Verb::read(buf, self.dialect)? else {
            return Ok(self.wait(buf.len(), buf.len() + 1));
        };
        let line_max = self.line_bytes_max();
        let start = arguments_start(verb, verb_len, buf)?;
        let newline = memchr::memchr(b'\n', buf.get(self.scanned..).unwrap_or_default());
        let Some(newline) = newline.map(|at| self.scanned + at) else {
            check_line(start, buf.len(), buf, line_max)?;
            return Ok(self.wait(buf.len(), buf.len() + 1));
        };
        check_line(start, newline, buf, line_max)?;
        let Some(line) = line(buf, start, newline) else {
            return Err(WireError::UnknownOperation);
        };
        let body = Body {
            buf,
            start: newline + 1,
            bytes_max: self.limits.payload_bytes_max,
        };
        match operation(verb, self.dialect, line, &body)? {
            Found::Complete(op, consumed) => {
                (self.scanned, self.need) = (0, 1);
                Ok(Step::Op { op, consumed })
            }
            Found::Need(total) => Ok(self.wait(newline, total)),
        }
    }

    const fn wait<'b>(&mut self, scanned: usize, need: usize) -> Step<'b> {
        (self.scanned, self.need) = (scanned, need);
        Step::Need(need)
    }

    const fn line_bytes_max(&self) -> usize {
        let max = self.limits.control_line_bytes_max;
        match self.dialect {
            Dialect::Client => max,
            Dialect::Leaf | Dialect::Route | Dialect::PinnedRoute => {
                max.saturating_mul(PEER_CONTROL_LINE_FACTOR)
            }
        }
    }
}

/// Where the arguments begin: after the verb and the blanks that follow it.
fn arguments_start(verb: Verb, verb_len: usize, buf: &[u8]) -> Result<usize, WireError> {
    let after = buf.get(verb_len..).unwrap_or_default();
    match after.first() {
        Some(byte) if verb.needs_space() && !is_blank(*byte) => Err(WireError::UnknownOperation),
        _ => Ok(verb_len + after.iter().take_while(|byte| is_blank(**byte)).count()),
    }
}

/// Refuses a line, finished or not, as soon as it is certainly too long.
fn check_line(start: usize, end: usize, buf: &[u8], max: usize) -> Result<(), WireError> {
    let arguments = buf.get(start..end).unwrap_or_default();
    let arguments = arguments.strip_suffix(b"\r").unwrap_or(arguments);
    if start > VERB_BYTES_MAX || arguments.len() > max {
        return Err(WireError::ControlLineTooLong);
    }
    Ok(())
}

/// The arguments without the line end.
fn line(buf: &[u8], start: usize, newline: usize) -> Option<&[u8]> {
    let line = buf.get(start..newline)?;
    Some(line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests;
