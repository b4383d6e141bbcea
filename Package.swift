// swift-tools-version: 6.2
import PackageDescription

/// Held by every target: the compiler, not discipline, keeps the layers apart.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
    .treatAllWarnings(as: .error),
]

/// Targets without I/O also refuse every unsafe construct: those of Sources/Core, and these.
let pure: [SwiftSetting] = strict + [.strictMemorySafety()]
let pureTargets: Set = ["FCMSimulator", "FanfareClient", "FanfareReceiving", "FleetSimulation"]

/// Pages of the Runbook, which the dashboard serves.
let runbook = """
    BacklogOld BatchesLost ConfigurationRefused CredentialsNotReady DevicesRefused DrainLong FailuresHigh FanoutStuck
    FleetStale GatewayCertificateEnds GatewayDeferring GatewayDown GatewayKeysRefused GatewayRefusing
    IntakeStalled JobStopped JobsParked JobsRejected JobsRepaired LastingInternal LatencyHigh LoopSlow
    MaybeDuplicates NoWorkers NotSending Pressure ProjectBlocked ProjectUnreachable QuotaRefused RedisUnreachable
    ResultsUnread ServerErrors VersionsDiffer WorkerDown WorkerRestarts
    """

/// Sections of the Lua library. Embedded one by one: a folder cannot be.
let sections = """
    base redo check trail pauses jobs audience message guards slot quota pace leases reconcile recipients intake copy
    batches waiting probe refusals claim quarantine record_parts record repair coalesce health control fleet history
    functions compact compact_record
    """

/// Files of the dashboard.
let page = """
    index.html app.css detail.css actions.js app.js audit.js charts.js day.js dead.js dom.js job.js jobs.js live.js
    overview.js project.js redis.js router.js runbook.js token.js icon.svg
    """

func words(_ text: String) -> [Substring] { text.split(whereSeparator: \.isWhitespace) }

/// Embedded files by target.
let resources: [String: [Resource]] = [
    "FanfareGateway": [.embedInCode("openapi.json")],
    "FanfareDashboard": words(page).map { .embedInCode("Page/\($0)") },
    "FanfarePages": [.embedInCode("Fanfare.docc/Runbook.md")]
        + words(runbook).map { .embedInCode("Fanfare.docc/Runbook/Fanfare\($0).md") },
    "StreamWire": words(sections).map { .embedInCode("Library/\($0).lua") },
]

// Products of other packages.
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let hummingbird: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let instrumentation: Target.Dependency = .product(name: "Instrumentation", package: "swift-distributed-tracing")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
func nio(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-nio") }
func nioHTTP2(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-nio-http2") }

/// Targets of one folder, each with its dependencies. The sources of a target are in the subfolder of its name.
typealias Floor = KeyValuePairs<String, [Target.Dependency]>

func targets(_ folder: String, _ floor: Floor) -> [Target] {
    floor.map { name, dependencies in
        .target(
            name: name,
            dependencies: dependencies,
            path: "\(folder)/\(name)",
            resources: resources[name],
            swiftSettings: folder == "Sources/Core" || pureTargets.contains(name) ? pure : strict
        )
    }
}

func tests(_ folder: String, _ floor: Floor) -> [Target] {
    // `ops/test` runs optimised code. The tests themselves are not optimised: that takes minutes, and saves no time.
    let settings = strict + [.unsafeFlags(["-Onone"], .when(configuration: .release))]
    return floor.map { .testTarget(name: $0, dependencies: $1, path: "\(folder)/\($0)", swiftSettings: settings) }
}

/// C libraries of the system, each with its Debian package. Each is imported by exactly one Swift target.
let systemLibraries: KeyValuePairs = [
    "CCurl": "libcurl4-openssl-dev", "CHiredis": "libhiredis-dev", "COpenSSL": "libssl-dev", "CYAML": "libyaml-dev",
    "CNGHTTP2": "libnghttp2-dev", "CExpat": "libexpat1-dev", "CZLIB": "zlib1g-dev",
]

/// The pure side: values and decisions. No I/O, no clock, no randomness of its own.
let core: Floor = [
    "FanfareJSON": [],
    "FanfareXML": [],
    "FanfareModel": [],
    // The message of each recipient: merge patch, placeholders, splicing.
    "FanfareTemplate": ["FanfareModel", "FanfareJSON"],
    "FanfareCore": ["FanfareModel", "FanfareJSON", "FanfareTemplate", "FCMWire", "StreamWire", deque],
    "FCMWire": ["FanfareModel", "FanfareJSON", "FanfareTemplate", "FanfareXML"],
    "StreamWire": ["FanfareModel"],
]

/// The I/O side.
let transports: Floor = [
    "EventLoop": ["CLinux", heap],
    // Requests to one origin over many connections, whatever library speaks HTTP on them.
    "HTTPLanes": ["FanfareModel", "EventLoop", deque],
    "CurlTransport": ["FanfareModel", "EventLoop", "OpenSSLKit", "HTTPLanes", "CCurl", "CHTTP2Observer"],
    "OpenSSLKit": ["COpenSSL"],
    // Sockets with or without TLS, for every protocol that is not HTTP.
    "SocketTransport": ["FanfareModel", "EventLoop", "OpenSSLKit", deque],
    "NGHTTP2Transport": ["FanfareModel", "EventLoop", "SocketTransport", "HTTPLanes", "CNGHTTP2", deque],
    "ExpatKit": ["FanfareXML", "CExpat"],
    "YAMLKit": ["CYAML"],
    "ZlibKit": ["CZLIB"],
    "XMPPTransport": ["FanfareModel", "FanfareXML", "FCMWire", "ExpatKit", "EventLoop", "SocketTransport", deque],
    "RedisTransport": ["EventLoop", "FanfareModel", "StreamWire", "OpenSSLKit", "SocketTransport", "CHiredis", deque],
    // What the HTTP servers of this package have in common.
    "FanfareHTTP": [
        "FanfareJSON", "FanfareModel", "OpenSSLKit", hummingbird, logging, nio("NIOConcurrencyHelpers"), nio("NIOCore"),
        nio("NIOHTTP1"), nio("NIOPosix"), nio("NIOTLS"), serviceLifecycle,
    ],
]

let worker: Floor = [
    "FanfareMetrics": ["FanfareModel", coreMetrics],
    "FanfareAdmin": [
        "FanfareConfiguration", "FanfareHTTP", "FanfareJSON", "FanfareMetrics", "FanfareModel", "SocketTransport",
        coreMetrics, hummingbird, nio("NIOCore"), logging,
    ],
    // Spans and metrics as OTLP/HTTP JSON.
    "FanfareTelemetry": [
        "CurlTransport", "HTTPLanes", "EventLoop", "FanfareCore", "FanfareJSON", "FanfareMetrics", "FanfareModel",
        deque, logging, tracing,
    ],
    "FanfareWorker": [
        "FanfareModel", "FanfareJSON", "FanfareCore", "FCMWire", "StreamWire", "EventLoop", "HTTPLanes",
        "CurlTransport", "NGHTTP2Transport", "RedisTransport", "OpenSSLKit", "XMPPTransport", "FanfareMetrics",
        "FanfareConfiguration", logging, tracing,
    ],
    "FanfareConfiguration": ["FanfareModel", "FanfareJSON", "FanfareCore", "FCMWire", "YAMLKit"],
]

let clients: Floor = [
    // For apps: what a push holds. It is built without anything else of this package.
    "FanfareReceiving": ["FanfareJSON"],
    // For producers on any platform: no I/O, and no module of one platform (DependencyTests).
    "FanfareClient": ["FanfareModel", "FanfareJSON", "FanfareReceiving", "StreamWire"],
    // The worker's own Redis connection for FanfareClient, on Linux.
    "FanfareRedis": ["FanfareClient", "RedisTransport", "StreamWire"],
]

/// The other end of the wire, for trials and tests.
let simulator: Floor = [
    "FCMSimulator": ["FanfareModel", "FanfareJSON", "FanfareXML", heap],
    "FanfareSandbox": [
        "FCMSimulator", "FanfareHTTP", "FanfareModel", "FanfareJSON", "FanfareXML", "ExpatKit", "OpenSSLKit",
        hummingbird, nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"), nio("NIOTLS"),
        nioHTTP2("NIOHTTP2"), nioHTTP2("NIOHPACK"), serviceLifecycle, logging,
    ],
]

let gateway: Floor = [
    // HTTP in: a producer and a reader of Redis.
    "FanfareGateway": [
        "FanfareClient", "FanfareCore", "FanfareHTTP", "FanfareJSON", "FanfareMetrics", "FanfareModel", "OpenSSLKit",
        "StreamWire", "ZlibKit", hummingbird, logging, nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOHTTP1"),
        nio("NIOPosix"), nio("NIOTLS"), nioHTTP2("NIOHPACK"), nioHTTP2("NIOHTTP2"), serviceLifecycle,
    ]
]

let tools: Floor = [
    // The web page over the fleet.
    "FanfareDashboard": [
        "FanfareClient", "FanfareHTTP", "FanfareJSON", "FanfareMetrics", "FanfareModel", "FanfarePages", "StreamWire",
        hummingbird, logging,
    ]
]

/// Executables, and targets whose folder has another name.
let others: [Target] = [
    .target(name: "CLinux", path: "Sources/CLibraries/CLinux"),
    .target(name: "CHTTP2Observer", path: "Sources/CLibraries/CHTTP2Observer"),
    // The pages of the product. Programs show those of the Runbook.
    .target(
        name: "FanfarePages",
        path: "Sources/Documentation",
        resources: resources["FanfarePages"],
        swiftSettings: pure
    ),
    .executableTarget(
        name: "fanfare",
        dependencies: [
            "FanfareModel", "FanfareJSON", "FanfareTemplate", "FCMWire", "StreamWire", "EventLoop", "HTTPLanes",
            "CurlTransport", "NGHTTP2Transport", "XMPPTransport", "RedisTransport", "OpenSSLKit", "SocketTransport",
            "FanfareClient", "FanfareRedis", "FanfareConfiguration", "FanfareCore", "FanfareGateway", "FanfareWorker",
            "FanfareSandbox",
            "FanfareAdmin", "FanfareDashboard", "FanfareMetrics", "FanfareTelemetry", argumentParser, coreMetrics,
            instrumentation, logging,
        ],
        path: "Sources/Tools/fanfare",
        swiftSettings: strict
    ),
    .executableTarget(
        name: "fleet-simulation",
        dependencies: ["FleetSimulation", argumentParser],
        path: "Tests/Simulation/FleetSimulationCommand",
        swiftSettings: strict
    ),
]

let unitTests: Floor = [
    "OpenSSLKitTests": ["OpenSSLKit", "TestSupport"],
    "RedisTransportTests": ["RedisTransport", "FanfareModel", "StreamWire", "TestSupport"],
    "YAMLKitTests": ["YAMLKit"],
    "ExpatKitTests": ["ExpatKit", "FanfareXML"],
    "ZlibKitTests": ["ZlibKit", "TestSupport"],
    "FanfareJSONTests": ["FanfareJSON"],
    "FanfareTemplateTests": ["FanfareTemplate", "FanfareJSON", "FanfareModel"],
    "FCMWireTests": ["FCMWire", "FanfareJSON", "FanfareModel", "FanfareTemplate", "FanfareXML"],
    "FanfareClientTests": [
        "FanfareClient", "FanfareModel", "FanfareJSON", "StreamWire", "FanfareCore", "FCMSimulator", "TestSupport",
    ],
    "FanfareConfigurationTests": ["TestSupport", "FanfareConfiguration", "FanfareCore", "FanfareModel", "FCMWire"],
    "DocumentationTests": ["TestSupport", "FCMWire", "FanfareConfiguration", "FanfareModel"],
    "FanfareMetricsTests": ["TestSupport", "FanfareMetrics", coreMetrics],
    "FanfareTelemetryTests": [
        "CurlTransport", "EventLoop", "FanfareJSON", "FanfareMetrics", "FanfareModel", "FanfareTelemetry", logging,
        tracing,
    ],
    "FanfareHTTPTests": [
        "FanfareHTTP", "FanfareJSON", "FanfareModel", "OpenSSLKit", "TestSupport", nio("NIOCore"), nio("NIOEmbedded"),
        nio("NIOTLS"),
    ],
    "FanfareAdminTests": [
        "FanfareAdmin", "FanfareConfiguration", "FanfareHTTP", "FanfareJSON", "FanfareMetrics", "FanfareModel",
    ],
    "FanfareWorkerTests": [
        "FanfareWorker", "FanfareConfiguration", "FanfareCore", "FanfareMetrics", "FanfareModel", "FCMWire",
        "StreamWire", "EventLoop", "HTTPLanes", "OpenSSLKit", "RedisTransport", "XMPPTransport", "TestSupport", logging,
        tracing,
    ],
    "FanfareModelTests": ["FanfareModel"],
    "EventLoopTests": ["EventLoop"],
    "HTTPLanesTests": ["HTTPLanes", "EventLoop", "FanfareModel"],
    "NGHTTP2TransportTests": ["NGHTTP2Transport", "HTTPLanes", "FanfareModel"],
    "FCMSimulatorTests": ["FCMSimulator", "FanfareJSON", "FanfareXML", "FanfareClient"],
    "FanfareCoreTests": [
        "TestSupport", "FanfareCore", "FanfareModel", "FanfareJSON", "FanfareTemplate", "FCMWire", "StreamWire",
    ],
]

/// Suites that start a server.
let integrationTests: Floor = [
    "HTTPServerTests": [
        "FanfareAdmin", "FanfareConfiguration", "FanfareHTTP", "FanfareMetrics", "FanfareModel", "OpenSSLKit",
        "TestSupport", coreMetrics, hummingbird, logging, nio("NIOCore"), nio("NIOPosix"),
    ],
    "FanfareGatewayTests": [
        "FanfareGateway", "FanfareHTTP", "OpenSSLKit", "TestSupport", hummingbird, logging,
        nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOEmbedded"), nio("NIOPosix"), nioHTTP2("NIOHPACK"),
        serviceLifecycle,
    ],
    // One suite for every engine.
    "HTTPTransportTests": [
        "TestSupport", "CurlTransport", "NGHTTP2Transport", "HTTPLanes", "EventLoop", "FanfareModel",
        "FanfareSandbox", logging,
    ],
    "XMPPTransportTests": [
        "XMPPTransport", "SocketTransport", "FanfareModel", "FanfareXML", "FCMWire", "ExpatKit", "EventLoop",
        "TestSupport",
    ],
    "FanfareSandboxTests": [
        "FanfareSandbox", "FCMSimulator", "FanfareJSON", "FanfareXML", "ExpatKit", "OpenSSLKit", "TestSupport",
        nio("NIOCore"), nio("NIOEmbedded"), nioHTTP2("NIOHPACK"), nioHTTP2("NIOHTTP2"), logging,
    ],
    "FanfareDashboardTests": [
        "FanfareDashboard", "FanfareClient", "FanfareHTTP", "FanfareRedis", "FanfareJSON", "FanfareMetrics",
        "FanfareModel", "FanfarePages", "RedisTransport", "StreamWire", "TestSupport", logging,
    ],
    "StreamWireTests": ["EventLoop", "FanfareCore", "StreamWire", "FanfareModel", "RedisTransport", "TestSupport"],
    "SocketTransportTests": ["SocketTransport", "EventLoop", "TestSupport"],
    "RedisConnectionTests": ["RedisTransport", "OpenSSLKit", "EventLoop", "StreamWire", "TestSupport"],
    "WorkerRedisTests": [
        "FanfareWorker", "FanfareConfiguration", "FanfareCore", "FanfareMetrics", "FanfareModel", "FCMWire",
        "StreamWire", "EventLoop", "RedisTransport", "TestSupport", logging,
    ],
    "FanfareRedisTests": [
        "FanfareClient", "FanfareRedis", "FanfareModel", "FanfareJSON", "StreamWire", "RedisTransport", "TestSupport",
    ],
]

/// Suites of the command, which depends on everything that they import.
let systemTests: Floor = ["CommandTests": ["fanfare", "TestSupport"], "EndToEndTests": ["fanfare", "TestSupport"]]

let simulationTests: Floor = [
    "FleetSimulationTests": [
        "FleetSimulation", "FanfareCore", "FanfareModel", "StreamWire", "RedisTransport", "TestSupport",
    ],
    "ScenarioTests": [
        "FCMSimulator", "FCMWire", "FanfareCore", "FanfareReceiving", "FanfareModel", "FanfareJSON", "FanfareXML",
        "ExpatKit", "TestSupport",
    ],
]

let floors: KeyValuePairs = [
    "Sources/Core": core, "Sources/Transports": transports, "Sources/Worker": worker, "Sources/Clients": clients,
    "Sources/Simulator": simulator, "Sources/Gateway": gateway, "Sources/Tools": tools,
]

let package = Package(
    name: "fanfare",
    // What FanfareClient and FanfareReceiving are for. Every other target needs Linux.
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "fanfare", targets: ["fanfare"]),
        .library(name: "FanfareClient", targets: ["FanfareClient", "FanfareJSON", "FanfareModel", "StreamWire"]),
        .library(name: "FanfareRedis", targets: ["FanfareRedis", "RedisTransport"]),
        .library(name: "FanfareReceiving", targets: ["FanfareReceiving"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // Without its traits, HummingbirdCore needs neither swift-configuration nor swift-system.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.0.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ],
    targets: [
        others,
        systemLibraries.map { .systemLibrary(name: $0, path: "Sources/CLibraries/\($0)", providers: [.apt([$1])]) },
        floors.flatMap { targets($0, $1) },
        targets("Tests/Support", ["TestSupport": ["EventLoop", "StreamWire", "RedisTransport", logging]]),
        targets("Tests/Simulation", ["FleetSimulation": ["FanfareCore", "FanfareModel", "StreamWire"]]),
        tests("Tests/Unit", unitTests),
        tests("Tests/Integration", integrationTests),
        tests("Tests/System", systemTests),
        tests("Tests/Simulation", simulationTests),
    ].flatMap { $0 }
)

// Only for the documentation (ops/docs): a build needs neither the plugin nor the network for it.
if Context.environment["FANFARE_DOCS"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}
