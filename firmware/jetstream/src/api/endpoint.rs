/// What of the API is asked for, out of the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint<'a> {
    AccountInfo,
    StreamCreate(&'a str),
    StreamUpdate(&'a str),
    StreamNames,
    StreamList,
    StreamInfo(&'a str),
    StreamDelete(&'a str),
    StreamPurge(&'a str),
    StreamSnapshot(&'a str),
    StreamRestore(&'a str),
    MessageGet(&'a str),
    MessageDelete(&'a str),
    ConsumerCreate(ConsumerTarget<'a>),
    ConsumerNames(&'a str),
    ConsumerList(&'a str),
    ConsumerInfo(&'a str, &'a str),
    ConsumerDelete(&'a str, &'a str),
    ConsumerReset(&'a str, &'a str),
    ConsumerPause(&'a str, &'a str),
    ConsumerUnpin(&'a str, &'a str),
    MessageNext(&'a str, &'a str),
    /// With the subject whose last message is wanted, when it is part of the request's.
    DirectGet(&'a str, Option<&'a str>),
    /// Only clusters have it.
    Clustered(&'static str),
}

/// The consumer that a create request's subject names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConsumerTarget<'a> {
    pub(crate) stream: &'a str,
    /// Empty when the subject names none.
    pub(crate) consumer: &'a str,
    /// Empty when the subject has none.
    pub(crate) filter: &'a str,
    pub(crate) form: Form,
}

/// Which of the three forms of the create call is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `CONSUMER.CREATE.<stream>`.
    Ephemeral,
    /// `CONSUMER.DURABLE.CREATE.<stream>.<consumer>`.
    Durable,
    /// `CONSUMER.CREATE.<stream>.<consumer>[.<filter>]`.
    Named,
}

impl<'a> Endpoint<'a> {
    /// Out of a subject under `$JS.API.`; `None` when the API has no such call.
    pub(crate) fn parse(subject: &'a str) -> Option<Self> {
        let rest = subject.strip_prefix("$JS.API.")?;
        if let Some(rest) = rest.strip_prefix("STREAM.") {
            return Self::stream(rest);
        }
        if let Some(rest) = rest.strip_prefix("CONSUMER.") {
            return Self::consumer(rest);
        }
        if let Some(rest) = rest.strip_prefix("DIRECT.GET.") {
            let (stream, subject) = split(rest);
            return Some(Self::DirectGet(stream, subject));
        }
        (rest == "INFO").then_some(Self::AccountInfo)
    }

    fn stream(rest: &'a str) -> Option<Self> {
        let tokens: Vec<&str> = rest.split('.').collect();
        match *tokens.as_slice() {
            ["NAMES"] => Some(Self::StreamNames),
            ["LIST"] => Some(Self::StreamList),
            ["CREATE", name] => Some(Self::StreamCreate(name)),
            ["UPDATE", name] => Some(Self::StreamUpdate(name)),
            ["INFO", name] => Some(Self::StreamInfo(name)),
            ["DELETE", name] => Some(Self::StreamDelete(name)),
            ["PURGE", name] => Some(Self::StreamPurge(name)),
            ["MSG", "GET", name] => Some(Self::MessageGet(name)),
            ["MSG", "DELETE", name] => Some(Self::MessageDelete(name)),
            ["PEER", "REMOVE", _] => Some(Self::Clustered("stream_remove_peer_response")),
            ["PEER", "EVACUATE", _] => Some(Self::Clustered("stream_evacuate_peer_response")),
            ["LEADER", "STEPDOWN", _] => Some(Self::Clustered("stream_leader_stepdown_response")),
            ["CANCEL_MOVE", _] => Some(Self::Clustered("stream_cancel_move_response")),
            ["SNAPSHOT", name] => Some(Self::StreamSnapshot(name)),
            ["RESTORE", name] => Some(Self::StreamRestore(name)),
            _ => None,
        }
    }

    fn consumer(rest: &'a str) -> Option<Self> {
        if let Some(target) = rest.strip_prefix("CREATE.") {
            return Some(Self::ConsumerCreate(ConsumerTarget::named(target)));
        }
        let tokens: Vec<&str> = rest.split('.').collect();
        match *tokens.as_slice() {
            ["DURABLE", "CREATE", stream, consumer] => {
                let target = ConsumerTarget::durable(stream, consumer);
                Some(Self::ConsumerCreate(target))
            }
            ["NAMES", stream] => Some(Self::ConsumerNames(stream)),
            ["LIST", stream] => Some(Self::ConsumerList(stream)),
            ["INFO", stream, consumer] => Some(Self::ConsumerInfo(stream, consumer)),
            ["DELETE", stream, consumer] => Some(Self::ConsumerDelete(stream, consumer)),
            ["RESET", stream, consumer] => Some(Self::ConsumerReset(stream, consumer)),
            ["MSG", "NEXT", stream, consumer] => Some(Self::MessageNext(stream, consumer)),
            ["LEADER", "STEPDOWN", _, _] => {
                Some(Self::Clustered("consumer_leader_stepdown_response"))
            }
            ["PAUSE", stream, consumer] => Some(Self::ConsumerPause(stream, consumer)),
            ["UNPIN", stream, consumer] => Some(Self::ConsumerUnpin(stream, consumer)),
            _ => None,
        }
    }

    /// The stream and the consumer it is about; empty when it is about none.
    pub(crate) const fn scope(&self) -> (&'a str, &'a str) {
        match self {
            Self::StreamCreate(stream)
            | Self::StreamUpdate(stream)
            | Self::StreamInfo(stream)
            | Self::StreamDelete(stream)
            | Self::StreamPurge(stream)
            | Self::StreamSnapshot(stream)
            | Self::StreamRestore(stream)
            | Self::MessageGet(stream)
            | Self::MessageDelete(stream)
            | Self::ConsumerNames(stream)
            | Self::ConsumerList(stream)
            | Self::DirectGet(stream, _) => (stream, ""),
            Self::ConsumerCreate(target) => (target.stream, target.consumer),
            Self::ConsumerInfo(stream, consumer)
            | Self::ConsumerDelete(stream, consumer)
            | Self::ConsumerReset(stream, consumer)
            | Self::ConsumerPause(stream, consumer)
            | Self::ConsumerUnpin(stream, consumer)
            | Self::MessageNext(stream, consumer) => (stream, consumer),
            Self::AccountInfo | Self::StreamNames | Self::StreamList | Self::Clustered(_) => {
                ("", "")
            }
        }
    }

    /// Whether it only asks what there is.
    ///
    /// spec: nats-server v2.15.1 server/jetstream_api.go `infopairs`
    pub(crate) const fn is_info(&self) -> bool {
        matches!(
            self,
            Self::AccountInfo
                | Self::StreamNames
                | Self::StreamList
                | Self::StreamInfo(_)
                | Self::ConsumerNames(_)
                | Self::ConsumerList(_)
                | Self::ConsumerInfo(..)
        )
    }

    /// The last part of its answer's type.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::AccountInfo => "account_info_response",
            Self::StreamCreate(_) => "stream_create_response",
            Self::StreamUpdate(_) => "stream_update_response",
            Self::StreamNames => "stream_names_response",
            Self::StreamList => "stream_list_response",
            Self::StreamInfo(_) => "stream_info_response",
            Self::StreamDelete(_) => "stream_delete_response",
            Self::StreamPurge(_) => "stream_purge_response",
            Self::StreamSnapshot(_) => "stream_snapshot_response",
            Self::StreamRestore(_) => "stream_restore_response",
            Self::MessageGet(_) => "stream_msg_get_response",
            Self::MessageDelete(_) => "stream_msg_delete_response",
            Self::ConsumerCreate(_) => "consumer_create_response",
            Self::ConsumerNames(_) => "consumer_names_response",
            Self::ConsumerList(_) => "consumer_list_response",
            Self::ConsumerInfo(..) => "consumer_info_response",
            Self::ConsumerDelete(..) => "consumer_delete_response",
            Self::ConsumerReset(..) => "consumer_reset_response",
            Self::ConsumerPause(..) => "consumer_pause_response",
            Self::ConsumerUnpin(..) => "consumer_unpin_response",
            Self::Clustered(kind) => kind,
            Self::MessageNext(..) | Self::DirectGet(..) => "",
        }
    }
}

impl<'a> ConsumerTarget<'a> {
    fn named(target: &'a str) -> Self {
        let (stream, rest) = split(target);
        let Some(rest) = rest else {
            return Self {
                stream,
                consumer: "",
                filter: "",
                form: Form::Ephemeral,
            };
        };
        let (consumer, filter) = split(rest);
        let filter = filter.unwrap_or_default();
        Self {
            stream,
            consumer,
            filter,
            form: Form::Named,
        }
    }

    const fn durable(stream: &'a str, consumer: &'a str) -> Self {
        Self {
            stream,
            consumer,
            filter: "",
            form: Form::Durable,
        }
    }
}

fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once('.') {
        Some((head, rest)) => (head, Some(rest)),
        None => (text, None),
    }
}
