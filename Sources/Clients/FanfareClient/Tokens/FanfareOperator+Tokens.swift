extension FanfareOperator {
    /// What the kept results and feedback of the project say about a token or an installation id.
    ///
    /// The search goes from the newest entry to the oldest. Where the index by token does not cover the results, it reads
    /// them, at most 64 entries a call.
    /// - Parameters:
    ///   - token: 1 to 1,024 of `A-Z a-z 0-9 _ : . -`.
    ///   - limit: the search stops after the entry that brings so many results, and so many feedback entries.
    ///   - calls: the most reading calls of Redis.
    ///   - cursor: ``TokenStory/cursor`` of the story to continue; nil begins with the newest entry.
    /// - Throws: ``FanfareClientError`` for a text that cannot be a token, and for one that is no cursor.
    public func story(
        of token: String,
        limit: Int = 100,
        calls: Int = 5_000,
        from cursor: String? = nil
    ) async throws -> TokenStory {
        guard Identifiers.isToken(token) else {
            throw FanfareClientError(.badArgument, "token: must be 1 to 1024 of A-Z a-z 0-9 _ : . -")
        }
        let start = cursor.map { TokenCursor($0) }
        if case .some(nil) = start {
            throw FanfareClientError(.badArgument, "cursor: not one of this version; begin again without a cursor")
        }
        var search = TokenSearch(
            redis: redis,
            keys: keys,
            token: token,
            limit: limit,
            calls: calls,
            from: start ?? nil
        )
        return try await search.run()
    }

    /// The stories of a token in all projects that are registered, and in `projects`; in the order of their ids.
    public static func stories(
        of token: String,
        redis: Redis,
        prefix: String = "fanfare",
        projects: [String] = [],
        limit: Int = 100
    ) async throws -> [TokenStory] {
        var stories: [TokenStory] = []
        for project in try await Self.projects(redis: redis, prefix: prefix, including: projects) {
            let projectOperator = FanfareOperator(redis: redis, project: project, prefix: prefix)
            stories.append(try await projectOperator.story(of: token, limit: limit))
        }
        return stories
    }
}
