//! Scanners and scales: a thread reads the lines of each.

use std::time::Duration;

use frond_config::{Appliance as Options, ParityBit, Port, SerialDevice};
use frond_linux::{Parity, Serial, SerialOptions};

use crate::desk::{Event, Events, Place, spawn};
use crate::devices::Open;
use crate::limits::{LINE_WAIT, LOOK_WAIT, RETRY_WAIT};
use crate::troubles::{Part, Troubles};

pub(crate) fn listen(
    place: &Place,
    options: &Options,
    events: &Events,
    (open, troubles): (&Open, &Troubles),
) {
    for (at, device) in options.serial.iter().enumerate() {
        let (device, place) = (device.clone(), place.clone());
        let (events, open) = (events.clone(), open.clone());
        let troubles = troubles.clone();
        spawn(&device.name.clone(), move || {
            while open.is_wanted() {
                let Err(why) = read(at, &device, &place, &events, (&open, &troubles)) else {
                    return;
                };
                troubles.note(Part::Port, &device.name, Some(&why));
                if events.send(Event::Port(at, Some(why))).is_err() {
                    return;
                }
                std::thread::park_timeout(RETRY_WAIT);
            }
        });
    }
}

/// Reads until nobody wants to hear it, or the port is gone.
fn read(
    at: usize,
    device: &SerialDevice,
    place: &Place,
    events: &Events,
    (open, troubles): (&Open, &Troubles),
) -> Result<(), String> {
    let name = place.board.bus(&device.port.name);
    let port = Serial::open(&place.roots, name, options_of(&device.port));
    let mut port = port.map_err(|error| format!("{name}: {error}"))?;
    troubles.note(Part::Port, &device.name, None);
    if events.send(Event::Port(at, None)).is_err() {
        return Ok(());
    }
    let mut lines = Lines::new(device.line_bytes_max);
    let mut bytes = [0; 512];
    while open.is_wanted() {
        let read = port.read(&mut bytes, lines.patience());
        let read = read.map_err(|error| format!("{name} is gone: {error}"))?;
        let mut say = |line: Vec<u8>| events.send(Event::Line(at, line)).is_ok();
        let is_heard = match bytes.get(..read) {
            Some([]) | None => lines.silence().is_none_or(&mut say),
            Some(some) => lines.take(some).into_iter().all(&mut say),
        };
        if !is_heard {
            return Ok(());
        }
    }
    Ok(())
}

pub(crate) fn options_of(port: &Port) -> SerialOptions {
    SerialOptions {
        baud: port.baud,
        data_bits: port.data_bits,
        stop_bits: port.stop_bits,
        parity: match port.parity {
            ParityBit::None => Parity::None,
            ParityBit::Even => Parity::Even,
            ParityBit::Odd => Parity::Odd,
        },
    }
}

/// Puts bytes together to lines: CR, LF or both end one, and so does a pause.
struct Lines {
    rest: Vec<u8>,
    bytes_max: usize,
    /// The line is too long: what is left of it is nothing.
    is_cut: bool,
}

impl Lines {
    const fn new(bytes_max: usize) -> Self {
        Self {
            rest: Vec::new(),
            bytes_max,
            is_cut: false,
        }
    }

    /// How long to wait for more.
    const fn patience(&self) -> Duration {
        if self.rest.is_empty() {
            LOOK_WAIT
        } else {
            LINE_WAIT
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for byte in bytes {
            match byte {
                b'\r' | b'\n' => {
                    self.is_cut = false;
                    if !self.rest.is_empty() {
                        lines.push(std::mem::take(&mut self.rest));
                    }
                }
                _ if self.is_cut => {}
                byte => {
                    self.rest.push(*byte);
                    if self.rest.len() == self.bytes_max {
                        self.is_cut = true;
                        lines.push(std::mem::take(&mut self.rest));
                    }
                }
            }
        }
        lines
    }

    /// Nothing more came: a scanner that sends no end has said all.
    fn silence(&mut self) -> Option<Vec<u8>> {
        self.is_cut = false;
        let line = std::mem::take(&mut self.rest);
        (!line.is_empty()).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_devices_end_them() {
        let mut lines = Lines::new(8);
        assert_eq!(lines.take(b"40\r\n12"), [b"40"]);
        assert_eq!(lines.take(b"3\r4\n\n5"), [b"123".to_vec(), b"4".to_vec()]);
        assert_eq!(lines.silence(), Some(b"5".to_vec()));
        assert_eq!(lines.silence(), None);
        assert_eq!(
            lines.take(b"0123456789abc\r7\r"),
            [b"01234567".to_vec(), b"7".to_vec()]
        );
    }
}
