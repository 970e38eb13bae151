use frond_wire::MessageBuf;

use crate::io::Tenant;

/// One request to the API.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) tenant: Tenant,
    /// Its subject under `$JS.API.`, whichever way it came.
    pub(crate) subject: Box<str>,
    pub(crate) message: MessageBuf,
    /// Who asks, as a document, when somebody wants to be told of all requests.
    pub(crate) asker: Option<Box<str>>,
}

impl Call {
    /// A request as it came.
    pub(crate) fn new(tenant: Tenant, message: MessageBuf) -> Self {
        let subject = message.subject().into();
        Self::renamed(tenant, message, subject)
    }

    /// A request that came under another name.
    pub(crate) const fn renamed(tenant: Tenant, message: MessageBuf, subject: Box<str>) -> Self {
        Self {
            tenant,
            subject,
            message,
            asker: None,
        }
    }

    /// Where the answer goes.
    pub(crate) fn reply(&self) -> Option<&str> {
        self.message.reply()
    }

    /// What was asked.
    pub(crate) fn body(&self) -> &[u8] {
        self.message.message().payload
    }
}
