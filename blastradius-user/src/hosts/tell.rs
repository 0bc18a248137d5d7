//! Whose payload is it?

use serde_json::Value;

use super::table::{HOSTS, Host, Sign};

/// The host whose signs `document` shows; the table's order decides between several.
pub fn by_shape(document: &Value) -> Option<&'static Host> {
    HOSTS.iter().find(|host| shows(host, document))
}

/// The host that the installed command names, unless the payload shows that another program runs the same hook file.
///
/// Some programs read the hook files of others, and send what the other would send with their own additions, or their
/// own payload altogether; the answer must be one that *they* understand.
pub fn by_name(name: &str, document: &Value) -> Option<&'static Host> {
    let host = super::table::find(name)?;
    let guest =
        host.guests.iter().filter_map(|guest| super::table::find(guest)).find(|guest| shows(guest, document));
    Some(guest.unwrap_or(host))
}

fn shows(host: &Host, document: &Value) -> bool {
    host.signs.iter().any(|signs| signs.iter().all(|sign| holds(sign, document)))
}

fn holds(sign: &Sign, document: &Value) -> bool {
    match sign {
        Sign::Has(pointer) => document.pointer(pointer).is_some(),
        Sign::Lacks(pointer) => document.pointer(pointer).is_none(),
        Sign::Is(pointer, values) => {
            document.pointer(pointer).and_then(Value::as_str).is_some_and(|found| values.contains(&found))
        }
    }
}
