use std::fmt;

use crate::manifest::Board;

/// Where a digital line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineSpec {
    /// A line of this name, on whatever chip has it.
    Named(String),
    /// The line of this number on this chip.
    Numbered {
        /// Its name below `/dev`, or its label.
        chip: String,
        /// On the chip.
        offset: u32,
    },
    /// A file below `/sys` that holds 0 or 1.
    File(String),
}

/// What a line is pulled to while nobody drives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bias {
    /// As the board has it.
    #[default]
    AsIs,
    /// To high.
    Up,
    /// To low.
    Down,
    /// To nothing.
    None,
}

impl LineSpec {
    /// `GPIO17`, a name of the board (`pin11`), `gpiochip0:17`, or `file:class/gpio/gpio17/value`.
    ///
    /// `GPIO17` is number 17 of the chip that the board's header is on, where it names one: what
    /// kernels call the lines differs (`GPIO4` is `GPIO_GCLK` for mainline on a Pi 4).
    #[must_use]
    pub fn of(text: &str, board: &Board) -> Self {
        if let Some(path) = text.strip_prefix("file:") {
            return Self::File(path.to_owned());
        }
        let line = board.pin(text);
        let number = |number: &str| number.parse::<u32>().ok();
        let numbered = line
            .split_once(':')
            .and_then(|(chip, offset)| Some((chip, number(offset)?)));
        let on_header = || {
            let offset = number(line.strip_prefix("GPIO")?)?;
            Some((board.gpio_chip.as_deref()?, offset))
        };
        match numbered.or_else(on_header) {
            Some((chip, offset)) => Self::Numbered {
                chip: chip.to_owned(),
                offset,
            },
            None => Self::Named(line.to_owned()),
        }
    }
}

impl fmt::Display for LineSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "line {name}"),
            Self::Numbered { chip, offset } => write!(f, "line {offset} of {chip}"),
            Self::File(path) => f.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::board_names;

    #[test]
    fn a_line_is_a_name_a_number_or_a_file() {
        let board = Board::find("raspberrypi5").unwrap();
        let numbered = |chip: &str, offset| LineSpec::Numbered {
            chip: chip.to_owned(),
            offset,
        };
        let cases = [
            ("pin11", numbered("pinctrl-rp1", 17)),
            ("GPIO4", numbered("pinctrl-rp1", 4)),
            ("gpiochip4:17", numbered("gpiochip4", 17)),
            ("SD_PWR_ON", LineSpec::Named("SD_PWR_ON".to_owned())),
            ("file:a/value", LineSpec::File("a/value".to_owned())),
        ];
        for (text, want) in cases {
            assert_eq!(LineSpec::of(text, &board), want);
        }
        let bare = Board::default();
        let named = LineSpec::Named("GPIO4".to_owned());
        assert_eq!(LineSpec::of("GPIO4", &bare), named);
        assert_eq!(named.to_string(), "line GPIO4");
        let shown = LineSpec::of("pin11", &board).to_string();
        assert_eq!(shown, "line 17 of pinctrl-rp1");
    }

    #[test]
    fn no_pin_of_a_header_depends_on_how_a_kernel_calls_it() {
        let mut pins = 0;
        for name in board_names() {
            let board = Board::find(name).unwrap();
            for pin in board.pins.keys() {
                let spec = LineSpec::of(pin, &board);
                let LineSpec::Numbered { chip, offset } = &spec else {
                    panic!("{name}: {pin} is {spec}");
                };
                assert!(chip.starts_with("pinctrl-"), "{name}: {pin} is on {chip}");
                assert!((2..=27).contains(offset), "{name}: {pin} is {offset}");
                pins += 1;
            }
        }
        assert_eq!(pins, 4 * 26);
    }
}
