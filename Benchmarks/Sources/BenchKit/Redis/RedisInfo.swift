/// Redis' answer to `INFO`.
struct RedisInfo {
    private let values: [Substring: Substring]

    init(_ text: String) {
        var values: [Substring: Substring] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            values[line[..<colon]] = line[line.index(after: colon)...]
        }
        self.values = values
    }

    /// Calls of each command since the server started, those of scripts and functions included; of section `commandstats`.
    var calls: [String: Int] { commands("calls=") }

    /// Microseconds that each command took; a script's are also those of the commands it called.
    var microseconds: [String: Int] { commands("usec=") }

    private func commands(_ field: String) -> [String: Int] {
        let prefix = "cmdstat_"
        var numbers: [String: Int] = [:]
        for (name, value) in values where name.hasPrefix(prefix) {
            let number = value.split(separator: ",").first { $0.hasPrefix(field) }?.dropFirst(field.count)
            numbers[String(name.dropFirst(prefix.count))] = number.flatMap { Int($0) }
        }
        return numbers
    }

    /// Bytes of all keys and what Redis needs to find them; of section `memory`.
    /// Buffers of clients and of the append-only file come and go, so they are left out.
    func keyBytes() throws -> Int {
        let used = try number("used_memory")
        return try used - number("mem_clients_normal") - number("mem_aof_buffer")
    }

    private func number(_ name: Substring) throws -> Int {
        guard let number = values[name].flatMap({ Int($0) }) else {
            throw BenchError.failed("Redis does not say its \(name)")
        }
        return number
    }
}
