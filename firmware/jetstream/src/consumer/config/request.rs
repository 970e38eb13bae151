use super::{AckPolicy, ConsumerConfig, DeliverPolicy, PriorityPolicy, ReplayPolicy};
use crate::api::json::{self, Field};
use crate::errors::ApiError;

/// What a create call does when the consumer exists, or does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Action {
    /// Creates it or changes it.
    #[default]
    CreateOrUpdate,
    /// It must not exist, unless it is the same.
    Create,
    /// It must exist.
    Update,
}

/// The body of `$JS.API.CONSUMER.CREATE…`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CreateRequest {
    /// The stream, which must be the one named by the subject.
    pub(crate) stream_name: String,
    /// The description.
    pub(crate) config: ConsumerConfig,
    /// What is asked for.
    pub(crate) action: Action,
    /// Whether a description that needs correction is refused instead.
    pub(crate) pedantic: bool,
}

impl CreateRequest {
    /// Reads a body as Go would. With `strict`, an unknown key is an error.
    ///
    /// # Errors
    /// 10025 with the reason.
    pub(crate) fn parse(body: &[u8], strict: bool) -> Result<Self, ApiError> {
        let mut request = Self::default();
        json::request(body, "CreateConsumerRequest", strict, |key, field| {
            match key {
                "stream_name" => request.stream_name = field.string()?,
                "config" => json::fields(field, "server.ConsumerConfig", |key, field| {
                    request.config.set(key, field)
                })?,
                "action" => request.action = action(field)?,
                "pedantic" => request.pedantic = field.bool()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(request)
    }
}

fn action(field: Field<'_>) -> Result<Action, String> {
    let named = |text: &str| match text {
        "" => Some(Action::CreateOrUpdate),
        "create" => Some(Action::Create),
        "update" => Some(Action::Update),
        _ => None,
    };
    field
        .choice(named)
        .ok_or_else(|| format!("unknown consumer action: {}", field.text()))
}

impl ConsumerConfig {
    /// Takes one member; false when there is no such.
    pub(crate) fn set(&mut self, key: &str, field: Field<'_>) -> Result<bool, String> {
        let known = self.set_text(key, field)?
            || self.set_number(key, field)?
            || self.set_flag(key, field)?
            || self.set_choice(key, field)?;
        Ok(known)
    }

    fn set_text(&mut self, key: &str, field: Field<'_>) -> Result<bool, String> {
        let place = match key {
            "durable_name" => &mut self.durable_name,
            "name" => &mut self.name,
            "description" => &mut self.description,
            "filter_subject" => &mut self.filter_subject,
            "sample_freq" => &mut self.sample_freq,
            "deliver_subject" => &mut self.deliver_subject,
            "deliver_group" => &mut self.deliver_group,
            _ => return Ok(false),
        };
        *place = field.string()?;
        Ok(true)
    }

    fn set_number(&mut self, key: &str, field: Field<'_>) -> Result<bool, String> {
        let (place, go_type) = match key {
            "ack_wait" => (&mut self.ack_wait, "time.Duration"),
            "max_deliver" => (&mut self.max_deliver, "int"),
            "max_waiting" => (&mut self.max_waiting, "int"),
            "max_ack_pending" => (&mut self.max_ack_pending, "int"),
            "max_batch" => (&mut self.max_batch, "int"),
            "max_expires" => (&mut self.max_expires, "time.Duration"),
            "max_bytes" => (&mut self.max_bytes, "int"),
            "idle_heartbeat" => (&mut self.idle_heartbeat, "time.Duration"),
            "inactive_threshold" => (&mut self.inactive_threshold, "time.Duration"),
            "num_replicas" => (&mut self.num_replicas, "int"),
            "priority_timeout" => (&mut self.priority_timeout, "time.Duration"),
            "opt_start_seq" => {
                self.opt_start_seq = field.uint64()?;
                return Ok(true);
            }
            "rate_limit_bps" => {
                self.rate_limit_bps = field.uint64()?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        *place = field.int64(go_type)?;
        Ok(true)
    }

    fn set_flag(&mut self, key: &str, field: Field<'_>) -> Result<bool, String> {
        let place = match key {
            "flow_control" => &mut self.flow_control,
            "headers_only" => &mut self.headers_only,
            "mem_storage" => &mut self.mem_storage,
            "direct" => &mut self.direct,
            "sourcing" => &mut self.sourcing,
            _ => return Ok(false),
        };
        *place = field.bool()?;
        Ok(true)
    }

    fn set_choice(&mut self, key: &str, field: Field<'_>) -> Result<bool, String> {
        match key {
            "deliver_policy" => self.deliver_policy = field.one_of(DeliverPolicy::from_text)?,
            "ack_policy" => self.ack_policy = field.one_of(AckPolicy::from_text)?,
            "replay_policy" => self.replay_policy = field.one_of(ReplayPolicy::from_text)?,
            "priority_policy" => {
                self.priority_policy = field
                    .choice(PriorityPolicy::from_text)
                    .ok_or_else(|| format!("unknown priority policy: {}", field.text()))?;
            }
            "opt_start_time" => self.opt_start_time = field.given_time()?,
            "pause_until" => self.pause_until = field.given_time()?,
            "filter_subjects" => self.filter_subjects = field.strings()?,
            "priority_groups" => self.priority_groups = field.strings()?,
            "metadata" => self.metadata = field.string_map()?,
            "backoff" => {
                let steps = field.items("[]time.Duration")?.into_iter();
                let steps = steps.map(|step| step.int64("time.Duration"));
                self.backoff = steps.collect::<Result<_, _>>()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
