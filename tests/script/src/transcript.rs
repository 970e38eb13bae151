//! The transcript format.
//!
//! ```text
//! # a comment
//! server: jetstream                 core (default) or jetstream
//! listener: leafnode                connections named `leaf…` go to a leafnode listener
//! config:                           more configuration: the indented lines that follow
//!     max_payload: 64
//! a S> INFO {json~ max_payload=64}  connection `a` opens at its first mention; one line must come
//! a S~ PATTERN                      this line comes, whatever comes before it
//! a C> PUB foo 2                    one line is sent, CRLF is added
//! a C- \x00half                     sent as it is, no CRLF
//! a join {"user":"x"}               short for INFO, CONNECT (quiet, headers, no_responders), PING, PONG
//! a ask SUBJ [K: v; K: v] BODY      publish with a private inbox as reply; headers and body may be left out
//! a send SUBJ REPLY BODY            publish with this reply subject
//! a reply PATTERN                   what came to that inbox, as `[status line; K: v] body`
//! a until SUBJ BODY => PATTERN      asks again until the reply fits: for what a server may do a moment later
//! a msg PATTERN                     any message, as `subject sid reply | [status line; K: v] body`
//! a close                           the client goes
//! ```
//! In what is sent: `\r \n \t \\ \xNN`, `{{name}}` (captured before), `{{repeat x 4200}}`.
//! In patterns: see `pattern.rs`.

use crate::failure::Failure;
use crate::pattern::Pattern;

/// A parsed transcript.
#[derive(Debug, Clone)]
pub struct Transcript {
    pub(crate) file: String,
    pub(crate) jetstream: bool,
    pub(crate) leafnode: bool,
    pub(crate) config: String,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) line: usize,
    pub(crate) peer: String,
    pub(crate) action: Action,
}

#[derive(Debug, Clone)]
pub(crate) enum Action {
    SendLine(String),
    SendRaw(String),
    Line(Pattern),
    Later(Pattern),
    Join(String),
    Ask(String),
    Send(String),
    Reply(Pattern),
    Until(String, Pattern),
    Message(Pattern),
    Close,
}

impl Transcript {
    /// Reads a transcript.
    ///
    /// # Errors
    /// The first line that is none of the forms above.
    pub fn parse(file: &str, text: &str) -> Result<Self, Failure> {
        let mut this = Self {
            file: file.to_owned(),
            jetstream: false,
            leafnode: false,
            config: String::new(),
            steps: Vec::new(),
        };
        for (index, line) in text.lines().enumerate() {
            this.line(index + 1, line).map_err(|text| Failure {
                file: file.to_owned(),
                line: index + 1,
                text,
            })?;
        }
        Ok(this)
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        if line.trim().is_empty()
            || line.starts_with('#')
            || line == "config:"
            || line == "server: core"
        {
            return Ok(());
        }
        if line == "server: jetstream" {
            self.jetstream = true;
            return Ok(());
        }
        if line == "listener: leafnode" {
            self.leafnode = true;
            return Ok(());
        }
        if line.starts_with("    ") {
            self.config.push_str(line);
            self.config.push('\n');
            return Ok(());
        }
        let (peer, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (verb, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let action = action(verb, rest)?;
        self.steps.push(Step {
            line: number,
            peer: peer.to_owned(),
            action,
        });
        Ok(())
    }
}

fn action(verb: &str, rest: &str) -> Result<Action, String> {
    Ok(match verb {
        "C>" => Action::SendLine(rest.to_owned()),
        "C-" => Action::SendRaw(rest.to_owned()),
        "S>" => Action::Line(Pattern::parse(rest)?),
        "S~" => Action::Later(Pattern::parse(rest)?),
        "join" => Action::Join(rest.to_owned()),
        "send" => Action::Send(rest.to_owned()),
        "ask" => Action::Ask(rest.to_owned()),
        "reply" => Action::Reply(Pattern::parse(rest)?),
        "until" => {
            let (ask, pattern) = rest.split_once(" => ").ok_or("until needs ` => `")?;
            Action::Until(ask.to_owned(), Pattern::parse(pattern)?)
        }
        "msg" => Action::Message(Pattern::parse(rest)?),
        "close" => Action::Close,
        other => return Err(format!("no such step: {other:?}")),
    })
}
