SELECT organization, language, count(*) AS customers
FROM {{ ref('active_customers') }}
GROUP BY organization, language
