/// Server-sent events, as bytes.
enum EventStream {
    /// Before the first event: how long a browser waits before it comes back, in milliseconds.
    static let opening = Array("retry: 2000\n\n".utf8)

    /// JSON has no line breaks of its own, so one `data` line holds it.
    static func event(_ update: FleetHub.Update) -> [UInt8] {
        var bytes = Array("id: \(update.version)\nevent: \(update.event)\ndata: ".utf8)
        bytes += update.json
        bytes += Array("\n\n".utf8)
        return bytes
    }
}
