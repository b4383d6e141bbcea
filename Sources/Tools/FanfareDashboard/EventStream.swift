/// Encodes server-sent events.
enum EventStream {
    /// Sent before the first event: the browser reconnects after 2 s.
    static let opening = Array("retry: 2000\n\n".utf8)

    /// An event with its JSON on one `data` line.
    static func event(_ update: FleetHub.Update) -> [UInt8] {
        var bytes = Array("id: \(update.version)\nevent: \(update.event)\ndata: ".utf8)
        bytes += update.json
        bytes += Array("\n\n".utf8)
        return bytes
    }
}
