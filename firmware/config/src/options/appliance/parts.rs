/// A block within `appliance`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Lamp,
    Button,
    Watchdog,
    Sensor,
    Input,
    Output,
    Serial,
    Modbus,
    Register,
    Condition,
}

impl Part {
    /// The keys that are read in it.
    pub(crate) const fn keys(self) -> &'static str {
        match self {
            Self::Whole => {
                "board user account prefix sys dev lamps button watchdog sensors inputs outputs serial \
                 modbus conditions"
            }
            Self::Lamp => "led line active_low",
            Self::Button => "line active_low bias debounce hold",
            Self::Watchdog => "device probe timeout",
            Self::Sensor => {
                "name driver subject interval timeout bus address id path unit scale offset min \
                 max input range bits shunt raw deadband rate window heartbeat latest"
            }
            Self::Input => "name line active_low bias debounce subject heartbeat latest",
            Self::Output => "name line active_low subject safe max_on on_link_loss",
            Self::Serial => {
                "name port baud data_bits parity stop_bits subject kind line_bytes_max unit raw \
                 deadband rate window heartbeat latest"
            }
            Self::Modbus => {
                "name tcp port baud data_bits parity stop_bits unit interval timeout registers"
            }
            Self::Register => {
                "table address kind swap scale offset min max unit subject raw deadband rate \
                 window heartbeat latest"
            }
            Self::Condition => "from to field deadband rate window heartbeat latest",
        }
    }
}
