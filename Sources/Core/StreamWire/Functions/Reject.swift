extension FunctionLibrary {
    /// Moves an entry that breaks a rule to `dead`. Answers `rejected`, or `gone`: another worker did.
    ///
    /// - Parameters:
    ///   - fields: the entry's fields, byte for byte. The first 1,000 are kept.
    ///   - undecodedNames: the bytes of names that are not UTF-8, by position, as ``StreamEntry`` has them.
    public static func reject(
        _ keys: ProjectKeys,
        entryID: String,
        job: String,
        reason: String,
        keepMs: Int64,
        fields: [(name: String, value: [UInt8])],
        undecodedNames: [Int: [UInt8]] = [:]
    ) -> RedisCommand {
        var command = call(
            "reject",
            keys,
            ["entry": entryID, "id": job, "reason": reason, "keep_ms": String(keepMs)]
        )
        // Lua's stack bounds what one XADD can be given.
        for (index, field) in fields.prefix(1_000).enumerated() {
            if let name = undecodedNames[index] { command.append(name) } else { command.append(field.name) }
            if field.value.count < RedisCommand.large {
                command.append(field.value)
            } else {
                command.append(shared: field.value[...])
            }
        }
        return command
    }
}
