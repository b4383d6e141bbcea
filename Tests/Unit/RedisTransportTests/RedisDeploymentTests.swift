import RedisTransport
import Testing

@Suite struct RedisDeploymentTests {
    @Test(arguments: [
        ("redis://u:p@host/2", "redis://u@host:6379/2"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock?db=0"),
        ("redis-sentinel://a", "redis-sentinel://a:26379/0?master=mymaster"),
        (
            "REDISS-SENTINEL://u:p%2F@a,b:1,[::1]:2/3?master=main",
            "rediss-sentinel://u@a:26379,b:1,[::1]:2/3?master=main"
        ),
        ("redis-sentinel://a?master=main&db=4", "redis-sentinel://a:26379/4?master=main"),
        ("redis-cluster://:secret@a:7000,b", "redis-cluster://a:7000,b:6379"),
        ("rediss-cluster://u:p@a", "rediss-cluster://u@a:6379"),
    ])
    func readsEveryForm(_ url: String, _ description: String) throws {
        #expect("\(try RedisDeployment(url: url))" == description)
    }

    @Test func userSignsInToTheServersNotToTheSentinels() throws {
        let deployment = try RedisDeployment(url: "rediss-sentinel://u:canary@a,b:1/2")
        #expect(deployment.form == .sentinel(primary: "mymaster"))
        #expect(deployment.server.user == "u" && deployment.server.password == "canary")
        #expect(deployment.server.database == 2)
        #expect(deployment.nodes.allSatisfy { $0.user == nil && $0.password == nil && $0.database == 0 && $0.usesTLS })
        let asked = deployment.askingSentinels(user: "s", password: "canary", usesTLS: false)
        #expect(asked.nodes.allSatisfy { $0.user == "s" && $0.password == "canary" && !$0.usesTLS })
        #expect(asked.server == deployment.server)
        var dumped = ""
        dump([deployment, asked], to: &dumped)
        for text in [dumped, "\(asked)", String(reflecting: asked), "\([deployment])"] {
            #expect(!text.contains("canary"))
        }
    }

    @Test func anotherPasswordReachesEveryNodeOfACluster() throws {
        let deployment = try RedisDeployment(url: "redis-cluster://a,b").signedIn(user: "u", password: "p")
        #expect((deployment.nodes + [deployment.server]).allSatisfy { $0.user == "u" && $0.password == "p" })
        #expect(deployment.askingSentinels(user: "x", password: "y", usesTLS: true) == deployment)
    }

    @Test(arguments: [
        "redis-sentinel://", "redis-sentinel://a,,b", "redis-sentinel://a,", "redis-sentinel://a?master=",
        "redis-sentinel://a?master=x%20y", "redis-sentinel://a?master=a&master=b", "redis-sentinel://a?canary=1",
        "redis-cluster://a?master=x", "redis-cluster://a/1", "redis-cluster://canary:canary@", "redis-cluster://a:0",
        "redis-clusters://a", "redis-sentinel:a", "redis-cluster://a b",
    ])
    func refusesTheRestWithoutRepeatingIt(_ url: String) throws {
        let error = try #require(throws: RedisURLError.self) { _ = try RedisDeployment(url: url) }
        #expect(!error.description.contains("canary"))
    }
}
