use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An enum with Go's exact texts.
macro_rules! texts {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal $(| $also:literal)*,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// As it stands in JSON.
            pub(crate) const fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// What a text in JSON means.
            pub(crate) fn from_text(text: &str) -> Option<Self> {
                match text {
                    $($text $(| $also)* => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.text())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::from_text(&text).ok_or_else(|| D::Error::custom("no such policy"))
            }
        }
    };
}

texts! {
    /// Where a consumer starts.
    DeliverPolicy {
        /// At the first message.
        #[default]
        All = "all" | "undefined",
        /// At the last message.
        Last = "last",
        /// After the last message.
        New = "new",
        /// At a sequence.
        ByStartSequence = "by_start_sequence",
        /// At a time.
        ByStartTime = "by_start_time",
        /// At the last message of every subject.
        LastPerSubject = "last_per_subject",
    }
}

texts! {
    /// What has to be acknowledged.
    AckPolicy {
        /// Nothing.
        #[default]
        None = "none",
        /// One ack covers everything before it.
        All = "all",
        /// Each message.
        Explicit = "explicit",
        /// Flow-control answers acknowledge.
        FlowControl = "flow_control",
    }
}

texts! {
    /// How fast stored messages are delivered.
    ReplayPolicy {
        /// As fast as possible.
        #[default]
        Instant = "instant",
        /// As fast as they were stored.
        Original = "original",
    }
}

texts! {
    /// Who of several pullers is served first.
    PriorityPolicy {
        /// All alike.
        #[default]
        None = "none",
        /// Some only when there is much to do.
        Overflow = "overflow",
        /// One at a time.
        PinnedClient = "pinned_client",
        /// By number.
        Prioritized = "prioritized",
    }
}

impl AckPolicy {
    /// Whether delivered messages are remembered until acknowledged.
    pub(crate) const fn is_acked(self) -> bool {
        !matches!(self, Self::None)
    }
}
