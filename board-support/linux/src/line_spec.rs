use crate::manifest::Board;

/// Where a digital line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineSpec {
    /// A line of this name, on whatever chip has it.
    Named(String),
    /// The line of this number on this chip.
    Numbered {
        /// Its name below `/dev`.
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
    #[must_use]
    pub fn of(text: &str, board: &Board) -> Self {
        if let Some(path) = text.strip_prefix("file:") {
            return Self::File(path.to_owned());
        }
        let numbered = text
            .split_once(':')
            .and_then(|(chip, offset)| Some((chip, offset.parse().ok()?)));
        match numbered {
            Some((chip, offset)) => Self::Numbered {
                chip: chip.to_owned(),
                offset,
            },
            None => Self::Named(board.pin(text).to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_name_a_number_or_a_file() {
        let board = Board::find("raspberrypi5").unwrap();
        let numbered = LineSpec::Numbered {
            chip: "gpiochip4".to_owned(),
            offset: 17,
        };
        let cases = [
            ("pin11", LineSpec::Named("GPIO17".to_owned())),
            ("GPIO4", LineSpec::Named("GPIO4".to_owned())),
            ("gpiochip4:17", numbered),
            ("file:a/value", LineSpec::File("a/value".to_owned())),
        ];
        for (text, want) in cases {
            assert_eq!(LineSpec::of(text, &board), want);
        }
    }
}
