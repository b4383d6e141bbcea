/// The namespaces of the protocol. Namespace and local name identify an element; the prefix does not.
enum XMPPNamespace {
    static let client = "jabber:client"
    static let streams = "http://etherx.jabber.org/streams"
    static let sasl = "urn:ietf:params:xml:ns:xmpp-sasl"
    static let bind = "urn:ietf:params:xml:ns:xmpp-bind"
    static let session = "urn:ietf:params:xml:ns:xmpp-session"
    static let stanzas = "urn:ietf:params:xml:ns:xmpp-stanzas"
    static let gcm = "google:mobile:data"
}
