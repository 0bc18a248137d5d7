//! Agent hosts: the hook that fires, in every agent, with the reason delivered.
//!
//! [`table`] says everything that differs between hosts; the rest reads it.
//!
//! | file | question |
//! |---|---|
//! | [`table`] | What is each host like? |
//! | [`document`] | Is this one well-formed JSON document? |
//! | [`tell`] | Whose payload is it? |
//! | [`request`] | What does it want to do, and where? |
//! | [`judge`] | What does the analyzer say of that? |
//! | [`machine`] | The same, of this machine |
//! | [`reason`] | How is a refusal put into words? |
//! | [`answer`] | Which bytes and which status make this host hold? |
//! | [`examples`] | What does a payload look like? |
//! | [`canary`] | Does the installed hook fire, and would its refusal be honoured? |
//! | [`codex`] | Does Codex run the hook that is in its file? |
//! | [`hook`] | All of it, in order |
//! | [`install`] | Where does a host read its hooks from, and how are they put there and taken away? |

pub mod answer;
pub mod canary;
pub mod codex;
pub mod document;
pub mod examples;
pub mod hook;
pub mod install;
pub mod judge;
pub mod machine;
pub mod reason;
pub mod request;
pub mod table;
pub mod tell;
